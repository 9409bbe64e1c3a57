// The name of a block of tokens: a hash chained from the root of a namespace.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/sampling.h"

namespace hearth::engine {

/// XXH3's 128 bits. Whoever finds a block by its key compares its tokens and its parent too, so
/// that two prompts whose keys collide never share keys and values.
struct BlockKey {
  std::uint64_t high = 0, low = 0;
  auto operator<=>(const BlockKey&) const = default;
};

struct BlockKeyHash {
  std::size_t operator()(const BlockKey& key) const { return std::size_t(key.low); }
};

/// The parent of a sequence's first block.
/// @param scope  all that decides keys and values besides the tokens: adapters, media, ...
BlockKey root_key(std::string_view scope);

/// The key of the block of `tokens` after the block `parent`.
BlockKey child_key(const BlockKey& parent, std::span<const TokenId> tokens);

/// 32 hex digits, and back; none where `text` is something else.
std::string to_string(const BlockKey& key);
std::optional<BlockKey> parse_block_key(std::string_view text);

}  // namespace hearth::engine
