#include "engine/checkpoint_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <string_view>

#include "base/file.h"

namespace hearth::engine {
namespace {

constexpr std::string_view suffix = ".gen";
constexpr std::size_t most_bytes = std::size_t{64} << 20;  // more tokens than any context has

struct Head {
  char magic[8] = {'H', 'E', 'A', 'R', 'T', 'H', 'G', 'N'};
  std::uint32_t version = 1;
  std::uint32_t count = 0;          // tokens, which follow
  std::uint64_t high = 0, low = 0;  // the answer's id
  std::uint64_t seed = 0;
  std::uint64_t hash = 0;  // of the head without it, and the tokens
};
static_assert(sizeof(Head) == 48, "the head has no padding");

std::uint64_t hash_of(Head head, std::string_view tokens) {
  head.hash = 0;
  return XXH3_64bits_withSeed(tokens.data(), tokens.size(), XXH3_64bits(&head, sizeof head));
}

tl::unexpected<Error> corrupt(const fs::path& path, std::string_view what) {
  return fail(ErrorCode::corrupt_file, fmt::format("{}: {}", path.string(), what));
}

}  // namespace

std::string checkpoint_name(const BlockKey& id) {
  return fmt::format("{}{}", to_string(id), suffix);
}

bool is_checkpoint_name(std::string_view name) {
  const auto id = parse_block_key(name.substr(0, 32));
  return id && name.substr(32).starts_with(suffix);
}

Result<void> write_checkpoint(const fs::path& path, const BlockKey& id,
                              const Checkpoint& checkpoint) {
  const auto& tokens = checkpoint.tokens;
  const std::string_view bytes(reinterpret_cast<const char*>(tokens.data()),
                               tokens.size() * sizeof(TokenId));
  Head head{.count = std::uint32_t(tokens.size()),
            .high = id.high,
            .low = id.low,
            .seed = checkpoint.seed};
  head.hash = hash_of(head, bytes);
  std::string file(reinterpret_cast<const char*>(&head), sizeof head);
  file += bytes;
  return write_file(path, file, 0600);
}

Result<Checkpoint> read_checkpoint(const fs::path& path, const BlockKey& id) {
  std::error_code none;
  if (const auto size = fs::file_size(path, none); !none && size > most_bytes) {
    return corrupt(path, fmt::format("it has {} bytes, expected at most {}", size, most_bytes));
  }
  const auto file = read_file(path);
  if (!file) return fail(file.error());
  Head head{};
  const Head expected{};
  if (file->size() < sizeof head) return corrupt(path, "it is shorter than a checkpoint's head");
  std::memcpy(&head, file->data(), sizeof head);
  if (std::memcmp(head.magic, expected.magic, sizeof head.magic) != 0) {
    return corrupt(path, "it is no checkpoint");
  }
  if (head.version != expected.version) return corrupt(path, "it is of another version");
  const auto tokens = std::string_view(*file).substr(sizeof head);
  if (head.count == 0 || tokens.size() != head.count * sizeof(TokenId)) {
    return corrupt(path, fmt::format("it has {} bytes of tokens, and its head speaks of {} tokens",
                                     tokens.size(), head.count));
  }
  if (hash_of(head, tokens) != head.hash) return corrupt(path, "it is damaged");
  if (BlockKey{.high = head.high, .low = head.low} != id) {
    return corrupt(path, "it is another answer's than its name says");
  }
  Checkpoint out{.seed = head.seed, .tokens = std::vector<TokenId>(head.count)};
  std::memcpy(out.tokens.data(), tokens.data(), tokens.size());
  return out;
}

}  // namespace hearth::engine
