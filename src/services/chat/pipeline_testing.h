// For tests of the pipeline: a tokenizer whose special tokens are markers, and what comes out of a
// run as plain values.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/chat/pipeline.h"
#include "services/chat/scripted_model.h"
#include "services/chat/token_bytes.h"
#include "text/dialect/dialect_writer.h"

namespace hearth::services::testing {

/// Bytes, and special tokens from 300 on.
class MarkerTokenizer : public ByteTokenizer {
 public:
  explicit MarkerTokenizer(std::vector<std::string_view> markers = {}) {
    for (const auto marker : markers) {
      if (!ids_.contains(marker)) {
        ids_.emplace(marker, first + text::TokenId(pieces_.size()));
        pieces_.emplace_back(marker);
      }
    }
  }
  std::string piece(text::TokenId id) const override {
    return is_added(id) ? pieces_[id - first] : ByteTokenizer::piece(id);
  }
  std::optional<text::TokenId> id_of(std::string_view piece) const override {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }
  bool is_marker(text::TokenId id) const override {
    return is_added(id) || ByteTokenizer::is_marker(id);
  }
  bool is_special(text::TokenId id) const override { return is_marker(id); }
  int vocab_size() const override { return first + int(pieces_.size()); }

  /// Ids of text: markers as their tokens, the rest as bytes.
  std::vector<text::TokenId> ids(std::string_view text) const {
    std::vector<text::TokenId> out;
    while (!text.empty()) {
      const auto* longest =
          static_cast<const std::pair<const std::string, text::TokenId>*>(nullptr);
      for (const auto& entry : ids_) {
        if (text.starts_with(entry.first) &&
            (!longest || entry.first.size() > longest->first.size())) {
          longest = &entry;
        }
      }
      out.push_back(longest ? longest->second : static_cast<unsigned char>(text[0]));
      text.remove_prefix(longest ? longest->first.size() : 1);
    }
    return out;
  }

 private:
  static constexpr text::TokenId first = 300;
  bool is_added(text::TokenId id) const {
    return id >= first && id < first + text::TokenId(pieces_.size());
  }
  std::vector<std::string> pieces_;
  std::map<std::string, text::TokenId, std::less<>> ids_;
};

struct Outcome {
  std::string text, reasoning;
  std::vector<ToolCall> calls;
  std::vector<std::string> pieces;  // of text, one an event
  std::string order;                // t, r, c: kinds of events, runs of one kind told once
  std::string token_bytes;          // of all tokens told
  int tokens = 0;                   // told
  std::optional<Finished> end;

  /// Name and arguments of each call: "read{...} stat{}".
  std::string call_texts() const {
    std::string out;
    for (const auto& call : calls) out += (out.empty() ? "" : " ") + call.name + call.arguments;
    return out;
  }
};

struct Feed {
  OutputFormat format;
  std::vector<std::string> stop;
  engine::FinishReason reason = engine::FinishReason::stop;
  std::shared_ptr<const MarkerTokenizer> tokenizer = std::make_shared<MarkerTokenizer>();
};

inline void note(Outcome& out, const Event& event, const text::Tokenizer& tokenizer) {
  char kind = 0;
  const auto told = [&](const std::vector<TokenInfo>& tokens) {
    out.tokens += int(tokens.size());
    for (const auto& t : tokens) out.token_bytes += token_bytes(tokenizer, t.token.id);
  };
  if (const auto* text = std::get_if<TextDelta>(&event)) {
    out.text += text->text;
    out.pieces.push_back(text->text);
    told(text->tokens);
    if (!text->text.empty()) kind = 't';
  } else if (const auto* reasoning = std::get_if<ReasoningDelta>(&event)) {
    out.reasoning += reasoning->text;
    told(reasoning->tokens);
    if (!reasoning->text.empty()) kind = 'r';
  } else if (const auto* call = std::get_if<ToolCall>(&event)) {
    out.calls.push_back(*call);
    told(call->tokens);
    kind = 'c';
  } else {
    out.end = std::get<Finished>(event);
  }
  if (kind && (kind == 'c' || out.order.empty() || out.order.back() != kind)) out.order += kind;
}

/// Runs ids through a pipeline as the engine would send them, up to where it asks to stop.
inline Outcome run(const std::vector<text::TokenId>& ids, const Feed& how) {
  OutputPipeline pipeline(how.tokenizer, how.stop, true, how.format);
  Outcome out;
  const auto take = [&](const engine::StreamItem& item) {
    std::vector<Event> events;
    pipeline.push(item, events);
    for (const Event& event : events) note(out, event, *how.tokenizer);
  };
  for (const auto id : ids) {
    engine::Sampled token;
    token.id = id;
    take(token);
  }
  engine::Finish finish;
  finish.reason = how.reason;
  finish.usage.completion_tokens = int(ids.size());
  take(finish);
  return out;
}

inline Outcome run(std::string_view text, const Feed& how) {
  return run(how.tokenizer->ids(text), how);
}

inline const text::Reasoning& reasoning_named(std::string_view name) {
  for (const auto& r : text::all_reasoning()) {
    if (r.name == name) return r;
  }
  throw std::invalid_argument("no such reasoning");
}

/// Tools of dialect_writer.h, reasoning between <think> and </think> (gpt-oss: its channels).
inline OutputFormat format_of(const text::Dialect& dialect) {
  OutputFormat format;
  format.dialect = &dialect;
  format.tools = text::ToolSet(text::testing::test_tools());
  format.reasoning = &reasoning_named(dialect.name == "harmony" ? "harmony" : "think");
  return format;
}

/// A tokenizer that has the dialect's markers as special tokens.
inline std::shared_ptr<const MarkerTokenizer> tokenizer_of(const OutputFormat& format) {
  std::vector<std::string_view> markers;
  if (format.dialect) markers = format.dialect->markers;
  if (format.reasoning && !format.reasoning->channels) {
    markers.insert(markers.end(), {format.reasoning->open, format.reasoning->close});
  }
  return std::make_shared<MarkerTokenizer>(markers);
}

}  // namespace hearth::services::testing
