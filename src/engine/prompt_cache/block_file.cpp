#include "engine/prompt_cache/block_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/file.h"

namespace hearth::engine {
namespace {

constexpr std::string_view magic = "HEARTHKV";
constexpr std::uint32_t version = 1;
constexpr std::size_t head_bytes = 40;
constexpr std::string_view unfinished = ".tmp-";

std::string_view name_of(Part part) { return part == Part::base ? "base" : "tail"; }

struct Head {
  std::uint32_t version, header_bytes;
  std::uint64_t header_hash, payload_bytes, payload_hash;
};

/// Of everything in front of the payload but the magic and itself.
std::uint64_t hash_of(Head head, std::string_view header) {
  head.header_hash = 0;
  return XXH3_64bits_withSeed(header.data(), header.size(), XXH3_64bits(&head, sizeof head));
}
static_assert(sizeof(Head) == head_bytes - magic.size(), "the head has no padding");

std::uint64_t hash_of(std::span<const tensor::KvBlockPtr> layers) {
  struct State {
    XXH3_state_t* state = XXH3_createState();
    ~State() { XXH3_freeState(state); }
  };
  const State hash;
  XXH3_64bits_reset(hash.state);
  for (const auto& layer : layers) {
    XXH3_64bits_update(hash.state, layer->bytes().data(), layer->bytes().size());
  }
  return XXH3_64bits_digest(hash.state);
}

std::string header_of(const std::string& space, const CachedBlock& block, Part part) {
  Json layers = Json::array();
  for (const auto& layer : block.part(part)->layers) {
    layers.push_back({{"format", layer->format()}, {"bytes", layer->bytes().size()}});
  }
  return Json{
      {"namespace", space},    {"key", to_string(block.key)}, {"parent", to_string(block.parent)},
      {"part", name_of(part)}, {"tokens", block.tokens},      {"layers", std::move(layers)}}
      .dump();
}

tl::unexpected<Error> failed(const std::filesystem::path& path, std::string_view what) {
  return fail(ErrorCode::io, fmt::format("{}: {}: {}", path.string(), what, std::strerror(errno)));
}

/// A file that is gone unless keep() is called.
class NewFile {
 public:
  explicit NewFile(std::filesystem::path path)
      : path_(std::move(path)),
        fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {}
  ~NewFile() {
    const int reason = errno;
    if (fd_ >= 0) ::close(fd_);
    if (fd_ >= 0 && !kept_) ::unlink(path_.c_str());
    errno = reason;
  }
  NewFile(const NewFile&) = delete;

  bool open() const { return fd_ >= 0; }
  bool write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const auto written = ::write(fd_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      bytes = bytes.subspan(std::size_t(written));
    }
    return true;
  }
  bool flush() const { return ::fsync(fd_) == 0; }
  bool keep(const std::filesystem::path& as) {
    kept_ = ::rename(path_.c_str(), as.c_str()) == 0;
    return kept_;
  }

 private:
  const std::filesystem::path path_;
  const int fd_;
  bool kept_ = false;
};

}  // namespace

std::string file_name(const PartId& id) {
  return fmt::format("{}.{}.hkv", to_string(id.key), name_of(id.part));
}

std::optional<PartId> parse_file_name(std::string_view name) {
  const auto key = parse_block_key(name.substr(0, 32));
  if (!key) return std::nullopt;
  for (const Part part : parts) {
    const PartId id{.key = *key, .part = part};
    if (file_name(id) == name) return id;
  }
  return std::nullopt;
}

bool is_left_over(std::string_view name) {
  const auto at = name.rfind(unfinished);
  if (at == name.npos) return false;
  const auto digits = name.substr(at + unfinished.size());
  int pid = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  if (error != std::errc() || end != digits.data() + digits.size() || pid < 1) return false;
  return pid == ::getpid() || (::kill(pid, 0) != 0 && errno == ESRCH);
}

Result<std::size_t> write_block(const std::filesystem::path& path, const std::string& space,
                                const CachedBlock& block, Part part) {
  const auto& layers = block.part(part)->layers;
  const std::string header = header_of(space, block, part);
  Head head{.version = version,
            .header_bytes = std::uint32_t(header.size()),
            .header_hash = 0,
            .payload_bytes = block.part(part)->bytes,
            .payload_hash = hash_of(layers)};
  head.header_hash = hash_of(head, header);
  NewFile file(fmt::format("{}{}{}", path.string(), unfinished, ::getpid()));
  if (!file.open()) return failed(path, "cannot be made");
  bool written = file.write(std::as_bytes(std::span(magic))) &&
                 file.write(std::as_bytes(std::span(&head, 1))) &&
                 file.write(std::as_bytes(std::span(header)));
  for (std::size_t i = 0; written && i < layers.size(); ++i)
    written = file.write(layers[i]->bytes());
  if (!written || !file.flush()) return failed(path, "cannot be written");
  if (!file.keep(path)) return failed(path, "cannot be renamed");
  return head_bytes + header.size() + head.payload_bytes;
}

namespace {

tl::unexpected<Error> corrupt(const std::filesystem::path& path, std::string_view what) {
  return fail(ErrorCode::corrupt_file, fmt::format("{}: {}", path.string(), what));
}

/// Fills in what the header says. @return what is wrong with it; empty: nothing
std::string read_header(const Json& header, const std::string& space, BlockFile& out) {
  if (!header.is_object()) return "its header is no object";
  const auto text = [&](const char* name) {
    const auto found = header.find(name);
    return found != header.end() && found->is_string() ? found->get<std::string>() : "";
  };
  if (text("namespace") != space) return "it is of another model or version";
  if (text("key") != to_string(out.id.key) || text("part") != name_of(out.id.part)) {
    return "it is another block than its name says";
  }
  const auto parent = parse_block_key(text("parent"));
  if (!parent) return "its header has no parent";
  out.parent = *parent;
  try {
    out.tokens = header.at("tokens").get<std::vector<TokenId>>();
    std::size_t at = head_bytes + header.at("header_bytes").get<std::size_t>();
    for (const auto& layer : header.at("layers")) {
      const auto bytes = layer.at("bytes").get<std::size_t>();
      if (bytes > out.memory.size() - at) return "its layers are longer than its payload";
      out.formats.push_back(layer.at("format").get<std::string>());
      out.layers.push_back(std::as_bytes(std::span(out.memory).subspan(at, bytes)));
      at += bytes;
    }
    if (at != out.memory.size()) return "its layers are shorter than its payload";
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace

Result<BlockFile> read_block(const std::filesystem::path& path, const std::string& space,
                             const PartId& id) {
  auto bytes = read_file(path);
  if (!bytes) return fail(bytes.error());
  BlockFile out{.id = id, .memory = std::move(*bytes)};
  const std::string_view all = out.memory;
  Head head{};
  if (all.size() < head_bytes || !all.starts_with(magic)) return corrupt(path, "it is no block");
  std::memcpy(&head, all.data() + magic.size(), sizeof head);
  if (head.version != version) return corrupt(path, "it is of another version");
  const std::size_t rest = all.size() - head_bytes;
  if (head.header_bytes > rest || head.payload_bytes != rest - head.header_bytes) {
    return corrupt(path, fmt::format("it has {} bytes, and its head speaks of others", all.size()));
  }
  const auto text = all.substr(head_bytes, head.header_bytes);
  const auto payload = all.substr(head_bytes + head.header_bytes);
  if (hash_of(head, text) != head.header_hash) return corrupt(path, "its header is damaged");
  if (XXH3_64bits(payload.data(), payload.size()) != head.payload_hash) {
    return corrupt(path, "its payload is damaged");
  }
  auto header = parse_json(text);
  if (!header) return corrupt(path, header.error().message);
  if (header->is_object()) (*header)["header_bytes"] = head.header_bytes;
  if (const auto wrong = read_header(*header, space, out); !wrong.empty()) {
    return corrupt(path, wrong);
  }
  return out;
}

}  // namespace hearth::engine
