#include "engine/prompt_cache/block_key.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>
#include <vector>

namespace hearth::engine {
namespace {

BlockKey key_of(const void* data, std::size_t bytes) {
  const auto hash = XXH3_128bits(data, bytes);
  return {.high = hash.high64, .low = hash.low64};
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

BlockKey root_key(std::string_view scope) { return key_of(scope.data(), scope.size()); }

BlockKey child_key(const BlockKey& parent, std::span<const TokenId> tokens) {
  struct Chained {
    XXH3_state_t* state = XXH3_createState();
    ~Chained() { XXH3_freeState(state); }
  };
  const Chained chained;
  XXH3_128bits_reset(chained.state);
  XXH3_128bits_update(chained.state, &parent, sizeof parent);
  XXH3_128bits_update(chained.state, tokens.data(), tokens.size_bytes());
  const auto hash = XXH3_128bits_digest(chained.state);
  return {.high = hash.high64, .low = hash.low64};
}

std::string to_string(const BlockKey& key) {
  return fmt::format("{:016x}{:016x}", key.high, key.low);
}

std::optional<BlockKey> parse_block_key(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  const auto high = parse_hex(text.substr(0, 16)), low = parse_hex(text.substr(16));
  if (!high || !low) return std::nullopt;
  return BlockKey{.high = *high, .low = *low};
}

}  // namespace hearth::engine
