#include "text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "text/bridge.h"
#include "text/decoding.h"
#include "text/token_bound.h"

namespace hearth::text {
namespace {

/// The names under which tokenizer_config.json and special_tokens_map.json give special tokens.
constexpr const char* special_names[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                         "pad_token", "cls_token", "mask_token"};

/// A special token's text: a string, or an object with "content".
std::string token_text(const Json& config, const char* name) {
  if (!config.is_object()) return {};
  const auto it = config.find(name);
  if (it == config.end()) return {};
  if (it->is_string()) return it->get<std::string>();
  if (it->is_object() && it->contains("content") && (*it)["content"].is_string()) {
    return (*it)["content"].get<std::string>();
  }
  return {};
}

bool is_true(const Json& config, const char* name) {
  return config.is_object() && config.contains(name) && config[name] == true;
}

/// Vocabulary strings and flags by id, in one block.
struct Table {
  std::string pieces;
  std::vector<std::uint32_t> ends;
  std::string flags;
  std::size_t count = 0;

  bool holds(TokenId id) const { return id >= 0 && static_cast<std::size_t>(id) < ends.size(); }
  bool has(TokenId id, int flag) const { return holds(id) && (flags[id] & flag) != 0; }
  std::string_view piece(TokenId id) const {
    if (!holds(id)) return {};
    const std::size_t begin = id == 0 ? 0 : ends[id - 1];
    return std::string_view(pieces).substr(begin, ends[id] - begin);
  }
};

/// What stands in for a post-processor where tokenizer.json has none and tokenizer_config.json says
/// "add_bos_token" or "add_eos_token". A post-processor decides alone, as in transformers 5.
struct AddedEnds {
  std::optional<TokenId> bos, eos;
};

class LibraryTokenizer : public Tokenizer {
 public:
  static Result<std::shared_ptr<LibraryTokenizer>> make(std::string_view json, const Json& config);

  Result<std::vector<TokenId>> encode(std::string_view text, EncodeOptions options) const override;
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override;
  std::string piece(TokenId id) const override { return std::string(table_.piece(id)); }
  std::optional<TokenId> id_of(std::string_view piece) const override;
  int vocab_size() const override { return static_cast<int>(table_.count); }
  std::size_t least_tokens(std::string_view text) const override { return bound_.least(text); }
  bool is_marker(TokenId id) const override { return table_.has(id, TB_MARKER); }
  bool is_special(TokenId id) const override { return table_.has(id, TB_SPECIAL); }
  Spelling spelling() const override { return plan_.spelling; }
  const std::string& bos_text() const override { return bos_; }
  const std::string& eos_text() const override { return eos_; }
  std::optional<TokenId> bos_id() const override { return bos_id_; }
  const std::set<TokenId>& stop_ids() const override { return stop_ids_; }
  Json special_tokens() const override { return special_tokens_; }
  const DecodePlan* decode_plan() const override { return &plan_; }

  void add_stop_ids(const std::set<TokenId>& ids) { stop_ids_.insert(ids.begin(), ids.end()); }

 private:
  Result<void> read_parts();
  void read_config(const Json& config);
  std::string library_decode(std::span<const TokenId> ids, bool skip_special) const;

  TokenizerHandle handle_;
  Table table_;
  DecodePlan plan_;
  TokenBound bound_;
  std::string bos_, eos_;
  std::optional<TokenId> bos_id_;
  std::set<TokenId> stop_ids_;
  Json special_tokens_ = Json::object();
  bool has_post_processor_ = false;
  AddedEnds ends_;
};

Result<std::shared_ptr<LibraryTokenizer>> LibraryTokenizer::make(std::string_view json,
                                                                 const Json& config) {
  auto made = std::make_shared<LibraryTokenizer>();
  tb_tokenizer* handle = nullptr;
  tb_bytes words{};
  const auto status = tb_tokenizer_new(bytes_of(json), json.size(), &handle, &words);
  if (status != TB_OK) {
    Error error = bridge_error(status, words, ErrorCode::corrupt_file);
    error.code = ErrorCode::corrupt_file;
    return fail(std::move(error));
  }
  made->handle_.reset(handle);
  if (auto read = made->read_parts(); !read) return fail(read.error());
  made->read_config(config);
  return made;
}

Result<void> LibraryTokenizer::read_parts() {
  tb_bytes pieces{}, flags{}, parts{}, words{};
  tb_ids ends{};
  auto status = tb_tokenizer_table(handle_.get(), &pieces, &ends, &flags, &table_.count, &words);
  if (status != TB_OK) return fail(bridge_error(status, words, ErrorCode::corrupt_file));
  table_.pieces = take(pieces);
  table_.ends = take(ends);
  table_.flags = take(flags);
  status = tb_tokenizer_parts(handle_.get(), &parts, &words);
  if (status != TB_OK) return fail(bridge_error(status, words, ErrorCode::corrupt_file));
  const Json read = Json::parse(take(parts), nullptr, false);
  plan_ = plan_decoding(read);
  bound_ = TokenBound(read, plan_.spelling, table_.ends.size(),
                      [this](std::size_t id) { return table_.piece(TokenId(id)); });
  has_post_processor_ = !read.value("post_processor", Json()).is_null();
  return {};
}

void LibraryTokenizer::read_config(const Json& config) {
  for (const char* name : special_names) {
    if (std::string text = token_text(config, name); !text.empty()) special_tokens_[name] = text;
  }
  bos_ = special_tokens_.value("bos_token", "");
  eos_ = special_tokens_.value("eos_token", "");
  if (!bos_.empty()) bos_id_ = id_of(bos_);
  const auto eos_id = eos_.empty() ? std::nullopt : id_of(eos_);
  if (eos_id) stop_ids_.insert(*eos_id);

  if (has_post_processor_) return;
  if (is_true(config, "add_bos_token")) ends_.bos = bos_id_;
  if (is_true(config, "add_eos_token")) ends_.eos = eos_id;
}

Result<std::vector<TokenId>> LibraryTokenizer::encode(std::string_view text,
                                                      EncodeOptions options) const {
  tb_ids out{};
  tb_bytes words{};
  const auto status = tb_tokenizer_encode(handle_.get(), bytes_of(text), text.size(),
                                          options.add_special, options.parse_markers, &out, &words);
  if (status != TB_OK) return fail(bridge_error(status, words, ErrorCode::internal));
  const auto made = take(out);
  std::vector<TokenId> ids;
  ids.reserve(made.size() + 2);
  if (options.add_special && ends_.bos) ids.push_back(*ends_.bos);
  ids.insert(ids.end(), made.begin(), made.end());
  if (options.add_special && ends_.eos) ids.push_back(*ends_.eos);
  return ids;
}

std::string LibraryTokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  const auto chain = plan_.chain();
  if (!chain) return library_decode(ids, skip_special);
  std::string text;
  for (const TokenId id : ids) {
    if (!table_.has(id, TB_KNOWN) || (skip_special && is_special(id))) continue;
    text += chain->push(table_.piece(id));
  }
  return text += chain->finish();
}

std::string LibraryTokenizer::library_decode(std::span<const TokenId> ids,
                                             bool skip_special) const {
  std::vector<std::uint32_t> known;
  std::copy_if(ids.begin(), ids.end(), std::back_inserter(known),
               [&](TokenId id) { return table_.has(id, TB_KNOWN); });
  tb_bytes out{}, words{};
  const auto status =
      tb_tokenizer_decode(handle_.get(), known.data(), known.size(), skip_special, &out, &words);
  if (status == TB_OK) return take(out);
  take(words);
  return {};
}

std::optional<TokenId> LibraryTokenizer::id_of(std::string_view piece) const {
  const auto id = tb_tokenizer_id(handle_.get(), bytes_of(piece), piece.size());
  if (id < 0) return {};
  return static_cast<TokenId>(id);
}

/// The document at `path`, or null where there is no such file.
Result<Json> optional_json(const fs::path& path) {
  if (!fs::exists(path)) return Json();
  return read_json_file(path);
}

void collect_eos(const Json& document, std::set<TokenId>& ids) {
  const auto add = [&](const Json& id) {
    if (id.is_number_integer() && id >= 0 && id <= std::numeric_limits<TokenId>::max()) {
      ids.insert(id.get<TokenId>());
    }
  };
  if (!document.is_object()) return;
  if (const auto it = document.find("eos_token_id"); it != document.end()) {
    if (it->is_array()) {
      for (const Json& id : *it) add(id);
    } else {
      add(*it);
    }
  }
  if (const auto it = document.find("text_config"); it != document.end()) collect_eos(*it, ids);
}

/// tokenizer_config.json, with the special tokens that only special_tokens_map.json names.
Result<Json> read_config_files(const fs::path& folder) {
  auto config = optional_json(folder / "tokenizer_config.json");
  if (!config) return config;
  const auto map = optional_json(folder / "special_tokens_map.json");
  if (!map) return map;
  if (!config->is_object()) *config = Json::object();
  for (const char* name : special_names) {
    if (!config->contains(name) && map->is_object() && map->contains(name)) {
      (*config)[name] = (*map)[name];
    }
  }
  return config;
}

}  // namespace

Json Tokenizer::special_tokens() const {
  Json tokens = Json::object();
  if (!bos_text().empty()) tokens["bos_token"] = bos_text();
  if (!eos_text().empty()) tokens["eos_token"] = eos_text();
  return tokens;
}

std::set<TokenId> eos_ids(const Json& config, const Json& generation_config) {
  std::set<TokenId> ids;
  collect_eos(config, ids);
  collect_eos(generation_config, ids);
  return ids;
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::load(const fs::path& folder) {
  const fs::path path = folder / "tokenizer.json";
  const auto json = read_file(path);
  if (!json) return fail(json.error());
  const auto config = read_config_files(folder);
  if (!config) return fail(config.error());
  auto made = LibraryTokenizer::make(*json, *config);
  if (!made) {
    return fail(made.error().code, fmt::format("{}: {}", path.string(), made.error().message));
  }
  const auto model = optional_json(folder / "config.json");
  if (!model) return fail(model.error());
  const auto generation = optional_json(folder / "generation_config.json");
  if (!generation) return fail(generation.error());
  (*made)->add_stop_ids(eos_ids(*model, *generation));
  return *made;
}

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_json(std::string_view tokenizer_json,
                                                              const Json& config) {
  auto made = LibraryTokenizer::make(tokenizer_json, config);
  if (!made) return fail(made.error().code, "tokenizer: " + made.error().message);
  (*made)->add_stop_ids(eos_ids(config, {}));
  return *made;
}

}  // namespace hearth::text
