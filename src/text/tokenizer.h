// Text to token ids and back: Hugging Face tokenizers behind rust/textbridge.
// Leaves out chat (chat_template.h) and streaming (detokenizer.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace hearth::text {

using TokenId = std::int32_t;

struct EncodeOptions {
  bool add_special = false;   // run the post-processor: BOS, EOS where the tokenizer adds them
  bool parse_markers = true;  // false: marker text (control tokens) is read as plain text
};

struct DecodePlan;  // decoding.h

/// How a vocabulary spells bytes; decides streaming decoding, whatever the decoder list says.
enum class Spelling { byte_level, byte_fallback, plain };

class Tokenizer {
 public:
  /// Reads tokenizer.json, tokenizer_config.json, special_tokens_map.json (the last two optional)
  /// and, for stop ids, config.json and generation_config.json of a model folder.
  /// Errors: not_found naming the file, corrupt_file with the library's own words.
  static Result<std::shared_ptr<const Tokenizer>> load(const std::filesystem::path& folder);

  /// From JSON already in memory (a GGUF's metadata); `config` as tokenizer_config.json.
  static Result<std::shared_ptr<const Tokenizer>> from_json(std::string_view tokenizer_json,
                                                            const Json& config);

  virtual ~Tokenizer() = default;

  /// Token ids of UTF-8 text. Thread-safe. Errors: invalid_request (invalid UTF-8).
  virtual Result<std::vector<TokenId>> encode(std::string_view text,
                                              EncodeOptions options) const = 0;

  /// Text of ids as the Python library decodes them. Unknown ids are skipped. Two differences:
  /// a byte-level vocabulary decodes as bytes whatever its decoder list says, and in a run of
  /// byte-fallback pieces a broken byte does not take the whole characters of its run with it.
  virtual std::string decode(std::span<const TokenId> ids, bool skip_special) const = 0;

  /// Raw vocabulary string ("Ġhello", "<0x0A>"); empty for an unknown id.
  virtual std::string piece(TokenId id) const = 0;
  virtual std::optional<TokenId> id_of(std::string_view piece) const = 0;
  /// Entries of the vocabulary with its added tokens.
  virtual int vocab_size() const = 0;

  /// The fewest tokens that the text can come to, without tokenising it; 0 where nothing is known.
  virtual std::size_t least_tokens(std::string_view) const { return 0; }

  /// An added token marked special, or any added token spelled like a marker: `<...>`, `[...]`.
  virtual bool is_marker(TokenId id) const = 0;
  /// An added token marked special: left out of text that users read.
  virtual bool is_special(TokenId id) const = 0;

  virtual Spelling spelling() const = 0;

  /// Text of bos_token/eos_token of tokenizer_config.json; empty when it has none.
  virtual const std::string& bos_text() const = 0;
  virtual const std::string& eos_text() const = 0;
  virtual std::optional<TokenId> bos_id() const = 0;

  /// Ids that end a turn: the union of config.json (text_config too) and generation_config.json
  /// eos_token_id (a number or a list), and the tokenizer's eos_token.
  virtual const std::set<TokenId>& stop_ids() const = 0;

  /// The special tokens that tokenizer_config.json names, as chat templates see them:
  /// {"bos_token": "<s>", ...}.
  virtual Json special_tokens() const;

  /// How ids become text piece by piece; null: only decode() of a whole list is known.
  virtual const DecodePlan* decode_plan() const { return nullptr; }
};

/// Union of every eos_token_id in the given documents (null and absent ones are skipped).
std::set<TokenId> eos_ids(const Json& config, const Json& generation_config);

}  // namespace hearth::text
