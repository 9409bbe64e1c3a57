// The file that holds what an answer had come to: its seed and its tokens, with a checksum over
// every byte. Small and whole: it is written beside its place and renamed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/prompt_cache/block_key.h"

namespace hearth::engine {

/// What an answer had come to. Its sampler goes on from the number of its tokens.
struct Checkpoint {
  std::uint64_t seed = 0;
  std::vector<TokenId> tokens;  // of the answer, at least one
  bool operator==(const Checkpoint&) const = default;
};

/// The name of a checkpoint's file, and whether a name is one's, finished or not.
std::string checkpoint_name(const BlockKey& id);
bool is_checkpoint_name(std::string_view name);

/// Errors: io, naming the path and the reason.
Result<void> write_checkpoint(const std::filesystem::path& path, const BlockKey& id,
                              const Checkpoint& checkpoint);

/// @param id  of the answer; a file of another one is corrupt
/// Errors: not_found, io; corrupt_file, naming what is wrong.
Result<Checkpoint> read_checkpoint(const std::filesystem::path& path, const BlockKey& id);

}  // namespace hearth::engine
