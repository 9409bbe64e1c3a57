// The decoder of a tokenizer.json as a stream: pieces in, text out as soon as it is settled.
// The whole decode runs through the same stages, so that both give the same text.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/tokenizer.h"

namespace hearth::text {

/// One decoder: pieces in, pieces out.
class DecodeStage {
 public:
  using Next = std::function<void(std::string)>;
  virtual ~DecodeStage() = default;
  virtual void push(std::string piece, const Next& next) = 0;
  virtual void finish(const Next&) {}
};

/// Stages in a row. What leaves the last one is whole UTF-8 characters.
class DecodeChain {
 public:
  explicit DecodeChain(std::vector<std::unique_ptr<DecodeStage>> stages);
  std::string push(std::string_view piece);
  std::string finish();

 private:
  void feed(std::size_t stage, std::string piece, std::string& out);
  std::vector<std::unique_ptr<DecodeStage>> stages_;
};

/// The "type" of a tokenizer's part; empty where it has none.
std::string type_of(const Json& part);

/// How a tokenizer decodes, read off its parts ("decoder", "pre_tokenizer", "normalizer").
struct DecodePlan {
  Spelling spelling = Spelling::plain;
  Json decoders = Json::array();  // in order; a byte-level vocabulary has ByteLevel alone
  bool local = true;              // every decoder has a stage here

  std::unique_ptr<DecodeChain> chain() const;  // only where local
};
DecodePlan plan_decoding(const Json& parts);

}  // namespace hearth::text
