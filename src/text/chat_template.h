// A conversation to the prompt the model was trained on: the model's own Jinja template.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/tokenizer.h"

namespace hearth::text {

struct Conversation {
  Json messages = Json::array();  // OpenAI shape, already normalised; arguments are objects
  Json tools;                     // null, or an array of OpenAI function tools
  bool add_generation_prompt = true;
  bool continue_final_message = false;
  Json kwargs = Json::object();  // chat_template_kwargs: enable_thinking, ...
  /// Where the template refuses: try again with the system turns merged to the front and neighbours
  /// of one role joined, then with the system text in the first user turn.
  bool retry_merged = true;
  std::optional<std::int64_t> now;  // what strftime_now tells, seconds since 1970; unset: the clock
};

/// A run of the prompt: text whose markers are control tokens, or a marker that came from a message
/// or a tool and is plain text. Two trusted runs may meet: no token spans the border.
///
/// Every string of `messages`, `tools` and `kwargs` is a stranger's, with one exception: the
/// reasoning markers in an assistant's own content (<think>, </think>, ...) stay as they are, since
/// templates cut the reasoning out of earlier turns by them.
struct Segment {
  std::string text;
  bool trusted = true;
  bool operator==(const Segment&) const = default;
};

struct RenderedChat {
  std::vector<Segment> segments;
  std::string text() const;  // the segments joined: what transformers' apply_chat_template returns
};

class ChatTemplate {
 public:
  /// Looks at, in order: chat_template.jinja, tokenizer_config.json "chat_template" (a string, or
  /// named templates: "default", and "tool_use" where tools are given), chat_template.json.
  /// Errors: not_found when the folder has none; corrupt_file when it does not parse.
  static Result<std::shared_ptr<const ChatTemplate>> load(
      const std::filesystem::path& folder, std::shared_ptr<const Tokenizer> tokenizer);
  static Result<std::shared_ptr<const ChatTemplate>> from_source(
      std::string_view source, std::shared_ptr<const Tokenizer> tokenizer);

  virtual ~ChatTemplate() = default;

  /// Renders. Thread-safe. Errors: invalid_request "prompt build failed: <the template's words>".
  virtual Result<RenderedChat> render(const Conversation& conversation) const = 0;

  /// render, then encode: no specials added, a doubled leading BOS collapsed to one, and marker
  /// text inside messages never read as a control token.
  virtual Result<std::vector<TokenId>> encode(const Conversation& conversation) const = 0;

  virtual const std::string& source() const = 0;
  /// The template has a branch on `tools`, on `enable_thinking`.
  virtual bool supports_tools() const = 0;
  virtual bool supports_thinking() const = 0;
};

}  // namespace hearth::text
