#include "text/decode_stages.h"

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "text/utf8.h"

namespace hearth::text {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

bool starts_with_at(std::string_view text, std::size_t at, std::string_view what) {
  return text.substr(at, what.size()) == what;
}

/// Bytes of the letters in which byte-level vocabularies are spelled (GPT-2's table), or -1.
int byte_of_letter(char32_t letter) {
  static const auto table = [] {
    std::array<int, 0x144> bytes{};
    bytes.fill(-1);
    char32_t extra = 0x100;
    for (int b = 0; b < 256; ++b) {
      const bool shown = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      bytes[shown ? static_cast<char32_t>(b) : extra++] = b;
    }
    return bytes;
  }();
  return letter < table.size() ? table[letter] : -1;
}

/// The bytes that a byte-level piece spells; a piece with any other letter stands for itself.
std::string byte_level_bytes(const std::string& piece) {
  std::string bytes;
  for (std::size_t i = 0; i < piece.size();) {
    const auto lead = static_cast<unsigned char>(piece[i]);
    char32_t letter = lead;
    if (lead >= 0x80) {
      if (lead >= 0xE0 || i + 1 >= piece.size()) return piece;
      letter = ((lead & 0x1Fu) << 6) | (static_cast<unsigned char>(piece[i + 1]) & 0x3Fu);
    }
    const int byte = byte_of_letter(letter);
    if (byte < 0) return piece;
    bytes += static_cast<char>(byte);
    i += lead >= 0x80 ? 2 : 1;
  }
  return bytes;
}

class ByteLevelStage : public DecodeStage {
 public:
  void push(std::string piece, const Next& next) override {
    held_ += byte_level_bytes(piece);
    std::string out;
    drain_utf8(held_, out);
    if (!out.empty()) next(std::move(out));
  }
  void finish(const Next& next) override {
    if (!held_.empty()) next(std::string(replacement_character));
    held_.clear();
  }

 private:
  std::string held_;  // the bytes of a cut character
};

/// The byte of "<0x0A>", or -1.
int fallback_byte(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  int value = 0;
  for (const char c : piece.substr(3, 2)) {
    const bool digit = c >= '0' && c <= '9', upper = c >= 'A' && c <= 'F',
               lower = c >= 'a' && c <= 'f';
    if (!digit && !upper && !lower) return -1;
    value = value * 16 + (digit ? c - '0' : (upper ? c - 'A' : c - 'a') + 10);
  }
  return value;
}

/// Runs of byte pieces become characters as soon as they are whole. A byte of no character becomes
/// one U+FFFD each.
class ByteFallbackStage : public DecodeStage {
 public:
  void push(std::string piece, const Next& next) override {
    const int byte = fallback_byte(piece);
    if (byte < 0) {
      finish(next);
      next(std::move(piece));
      return;
    }
    held_ += static_cast<char>(byte);
    while (!held_.empty()) {
      const auto first = first_character(held_);
      if (first.kind == FirstCharacter::Kind::cut) return;
      if (first.kind == FirstCharacter::Kind::whole) {
        next(held_.substr(0, first.size));
      } else {
        give_up(first.size, next);
      }
      held_.erase(0, first.size);
    }
  }
  void finish(const Next& next) override {
    give_up(held_.size(), next);
    held_.clear();
  }

 private:
  static void give_up(std::size_t bytes, const Next& next) {
    while (bytes-- > 0) next(std::string(replacement_character));
  }
  std::string held_;
};

class ReplaceStage : public DecodeStage {
 public:
  ReplaceStage(std::string from, std::string to) : from_(std::move(from)), to_(std::move(to)) {}
  void push(std::string piece, const Next& next) override {
    replace_all(piece, from_, to_);
    next(std::move(piece));
  }

 private:
  std::string from_, to_;
};

class FuseStage : public DecodeStage {
 public:
  void push(std::string piece, const Next& next) override { next(std::move(piece)); }
};

/// Strips up to `start` characters from the front and `stop` from the back of every piece, or of
/// the whole text where the pieces are parts of one string.
class StripStage : public DecodeStage {
 public:
  StripStage(std::string content, std::size_t start, std::size_t stop, bool fused)
      : content_(std::move(content)), start_(start), stop_(stop), fused_(fused), left_(start) {}

  void push(std::string piece, const Next& next) override {
    if (!fused_) left_ = start_;
    const std::size_t front = strip_front(piece);
    if (front < piece.size()) left_ = 0;
    piece.erase(0, front);
    piece.insert(0, held_);
    held_ = cut_back(piece);
    if (!fused_) held_.clear();
    if (!piece.empty()) next(std::move(piece));
  }
  void finish(const Next&) override { held_.clear(); }

 private:
  std::size_t strip_front(const std::string& piece) {
    std::size_t at = 0;
    for (; left_ > 0 && starts_with_at(piece, at, content_); --left_) at += content_.size();
    return at;
  }
  std::string cut_back(std::string& piece) const {
    std::size_t end = piece.size();
    for (std::size_t i = 0; i < stop_ && end >= content_.size(); ++i) {
      if (!starts_with_at(piece, end - content_.size(), content_)) break;
      end -= content_.size();
    }
    std::string tail = piece.substr(end);
    piece.resize(end);
    return tail;
  }

  std::string content_;
  std::size_t start_, stop_;
  bool fused_;
  std::size_t left_;  // characters of the front that may still be stripped
  std::string held_;  // the end of the text so far, which would go if nothing followed
};

class MetaspaceStage : public DecodeStage {
 public:
  MetaspaceStage(std::string space, bool prepended) : space_(std::move(space)), drop_(prepended) {}
  void push(std::string piece, const Next& next) override {
    replace_all(piece, space_, drop_ ? "" : " ");
    drop_ = false;
    next(std::move(piece));
  }

 private:
  std::string space_;
  bool drop_;  // the first piece's spaces were put there by the tokenizer
};

class WordPieceStage : public DecodeStage {
 public:
  WordPieceStage(std::string prefix, bool cleanup)
      : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  void push(std::string piece, const Next& next) override {
    if (!first_) {
      if (piece.starts_with(prefix_)) {
        piece.erase(0, prefix_.size());
      } else {
        piece = " " + piece;
      }
    }
    first_ = false;
    if (cleanup_) clean(piece);
    next(std::move(piece));
  }

 private:
  static void clean(std::string& text) {
    static constexpr std::pair<std::string_view, std::string_view> rules[] = {
        {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
        {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
        {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    for (const auto& [from, to] : rules) replace_all(text, from, to);
  }
  std::string prefix_;
  bool cleanup_;
  bool first_ = true;
};

/// A suffix ends a word: it becomes a space, or nothing in the last piece.
class SuffixStage : public DecodeStage {
 public:
  explicit SuffixStage(std::string suffix) : suffix_(std::move(suffix)) {}
  void push(std::string piece, const Next& next) override {
    release(" ", next);
    held_ = std::move(piece);
  }
  void finish(const Next& next) override { release("", next); }

 private:
  void release(std::string_view end, const Next& next) {
    if (!held_) return;
    replace_all(*held_, suffix_, end);
    next(std::move(*held_));
    held_.reset();
  }
  std::string suffix_;
  std::optional<std::string> held_;
};

class SpaceJoinedStage : public DecodeStage {
 public:
  void push(std::string piece, const Next& next) override {
    if (!first_) piece = " " + piece;
    first_ = false;
    next(std::move(piece));
  }

 private:
  bool first_ = true;
};

std::string text_of(const Json& object, const char* key, std::string otherwise) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::move(otherwise);
}

std::size_t count_of(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_unsigned() ? it->get<std::size_t>() : 0;
}

std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (c & 0xC0) != 0x80;
  return count;
}

std::unique_ptr<DecodeStage> replace_stage(const Json& decoder, bool fused) {
  const auto pattern = decoder.find("pattern");
  if (pattern == decoder.end() || !pattern->is_object()) return nullptr;
  const std::string from = text_of(*pattern, "String", "");
  if (from.empty() || (fused && characters(from) > 1)) return nullptr;
  return std::make_unique<ReplaceStage>(from, text_of(decoder, "content", ""));
}

}  // namespace

std::unique_ptr<DecodeStage> make_decode_stage(const Json& decoder, bool fused) {
  const std::string type = text_of(decoder, "type", "");
  if (type == "ByteLevel") return std::make_unique<ByteLevelStage>();
  if (type == "Fuse") return std::make_unique<FuseStage>();
  if (type == "Replace") return replace_stage(decoder, fused);
  if (type == "Strip") {
    return std::make_unique<StripStage>(text_of(decoder, "content", " "),
                                        count_of(decoder, "start"), count_of(decoder, "stop"),
                                        fused);
  }
  if (fused) return nullptr;  // the rest asks where pieces begin
  if (type == "ByteFallback") return std::make_unique<ByteFallbackStage>();
  if (type == "Metaspace") {
    return std::make_unique<MetaspaceStage>(
        text_of(decoder, "replacement", "\u2581"),
        text_of(decoder, "prepend_scheme", "always") != "never");
  }
  if (type == "WordPiece") {
    return std::make_unique<WordPieceStage>(text_of(decoder, "prefix", "##"),
                                            decoder.value("cleanup", true));
  }
  if (type == "BPEDecoder") {
    return std::make_unique<SuffixStage>(text_of(decoder, "suffix", "</w>"));
  }
  return nullptr;
}

std::unique_ptr<DecodeStage> make_space_joined_stage() {
  return std::make_unique<SpaceJoinedStage>();
}

}  // namespace hearth::text
