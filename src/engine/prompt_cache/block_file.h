// One part of a block as a file that vouches for itself.
//
//   0  "HEARTHKV", u32 version, u32 length of the header, u64 XXH3 of version, lengths, payload's
//      hash and header; u64 length of the payload, u64 XXH3 of the payload
//  40  header, JSON: namespace, key, parent, part, tokens, layers [{format, bytes}]
//      payload: the layers' bytes, one after another
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "engine/prompt_cache/cached_block.h"

namespace hearth::engine {

/// Which file: a block's key and one of its parts.
struct PartId {
  BlockKey key;
  Part part = Part::base;
  auto operator<=>(const PartId&) const = default;
};

/// "<32 hex digits>.base.hkv"
std::string file_name(const PartId& id);
std::optional<PartId> parse_file_name(std::string_view name);

/// Every file of `space`, the namespace, says so in its header.
/// Writes beside `path`, flushes to the disk, then renames.
/// @return bytes of the file. Error: io with the system's reason; nothing is left behind.
Result<std::size_t> write_block(const std::filesystem::path& path, const std::string& space,
                                const CachedBlock& block, Part part);

/// A file whose every byte was checked.
struct BlockFile {
  PartId id;
  BlockKey parent;
  std::vector<TokenId> tokens;
  std::vector<std::string> formats;                // of each layer
  std::vector<std::span<const std::byte>> layers;  // in `memory`
  std::string memory;                              // the whole file
};

/// Errors: not_found; io; corrupt_file, saying what is wrong, also where the file is of another
/// name, namespace or version than is expected.
Result<BlockFile> read_block(const std::filesystem::path& path, const std::string& space,
                             const PartId& id);

/// Whether a name is that of a file that write_block() did not finish, by a process that is gone.
bool is_left_over(std::string_view name);

}  // namespace hearth::engine
