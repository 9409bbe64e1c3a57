#include "text/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "text/bridge.h"
#include "text/conversation.h"
#include "text/markers.h"

namespace hearth::text {
namespace {

/// Variables that kwargs may not replace.
constexpr std::array<std::string_view, 3> own_variables = {"messages", "tools",
                                                           "add_generation_prompt"};

/// One compiled template.
class Compiled {
 public:
  static Result<Compiled> make(std::string source) {
    tb_template* handle = nullptr;
    tb_bytes words{};
    const auto status = tb_template_new(bytes_of(source), source.size(), &handle, &words);
    if (status != TB_OK) {
      return fail(ErrorCode::corrupt_file,
                  "chat template: " + bridge_error(status, words, ErrorCode::corrupt_file).message);
    }
    return Compiled(std::move(source), TemplateHandle(handle));
  }

  Result<std::string> render(const Json& variables, std::int64_t now) const {
    const std::string context = variables.dump(-1, ' ', false, Json::error_handler_t::replace);
    tb_bytes out{}, words{};
    const auto status =
        tb_template_render(handle_.get(), bytes_of(context), context.size(), now, &out, &words);
    if (status == TB_OK) return take(out);
    return fail(bridge_error(status, words, ErrorCode::invalid_request));
  }

  bool reads(std::string_view name) const {
    return tb_template_reads(handle_.get(), bytes_of(name), name.size());
  }
  const std::string& source() const { return source_; }

 private:
  Compiled(std::string source, TemplateHandle handle)
      : source_(std::move(source)), handle_(std::move(handle)) {}
  std::string source_;
  TemplateHandle handle_;
};

std::vector<std::string> marker_texts(const Tokenizer& tokenizer) {
  std::vector<std::string> texts;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_marker(id)) texts.push_back(tokenizer.piece(id));
  }
  return texts;
}

class JinjaTemplate : public ChatTemplate {
 public:
  JinjaTemplate(Compiled main, std::optional<Compiled> tool_use,
                std::shared_ptr<const Tokenizer> tokenizer)
      : main_(std::move(main)), tool_use_(std::move(tool_use)), tokenizer_(std::move(tokenizer)),
        mask_(marker_texts(*tokenizer_)), special_tokens_(tokenizer_->special_tokens()) {}

  Result<RenderedChat> render(const Conversation& conversation) const override;
  Result<std::vector<TokenId>> encode(const Conversation& conversation) const override;
  const std::string& source() const override { return main_.source(); }
  bool supports_tools() const override { return tool_use_ || main_.reads("tools"); }
  bool supports_thinking() const override { return main_.reads("enable_thinking"); }

 private:
  const Compiled& compiled(const Conversation& conversation) const {
    return tool_use_ && conversation.tools.is_array() ? *tool_use_ : main_;
  }
  Result<RenderedChat> render_once(const Conversation& conversation) const;
  Result<std::string> render_text(const Conversation& conversation,
                                  const MarkerMask::Masked& masked) const;
  Result<std::vector<TokenId>> encode_piece(const Segment& segment, bool first) const;

  Compiled main_;
  std::optional<Compiled> tool_use_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  MarkerMask mask_;
  Json special_tokens_;
};

constexpr std::string_view continue_tag = "CONTINUE_FINAL_MESSAGE_TAG ";

/// Marks the end of the last message's text (its last text part), to cut the rendering there.
bool tag_final_message(Json& messages) {
  if (messages.empty() || !messages.back().is_object()) return false;
  Json& content = messages.back()["content"];
  Json* text = &content;
  if (content.is_array()) {
    const auto part = std::find_if(content.rbegin(), content.rend(), [](const Json& p) {
      return p.is_object() && p.contains("text");
    });
    if (part == content.rend()) return false;
    text = &(*part)["text"];
  }
  if (!text->is_string()) return false;
  *text = text->get<std::string>() + std::string(continue_tag);
  return true;
}

/// The rendering up to the tag. A template that trims messages drops the tag's space too: then the
/// text before the tag loses its trailing whitespace as well.
Result<std::string> cut_at_tag(std::string rendered) {
  const auto bare = continue_tag.substr(0, continue_tag.size() - 1);
  const auto at = rendered.rfind(bare);
  if (at == rendered.npos) {
    return fail(ErrorCode::invalid_request,
                "the template does not show the final message that is to be continued");
  }
  const bool kept = std::string_view(rendered).substr(at).starts_with(continue_tag);
  rendered.resize(at);
  if (!kept) rendered.erase(rendered.find_last_not_of(" \t\n\r\f\v") + 1);
  return rendered;
}

Result<std::string> JinjaTemplate::render_text(const Conversation& conversation,
                                               const MarkerMask::Masked& masked) const {
  Json variables = special_tokens_;
  variables["documents"] = nullptr;
  for (const auto& [key, value] : masked.kwargs.items()) {
    const auto& own = own_variables;
    if (std::find(own.begin(), own.end(), key) == own.end()) variables[key] = value;
  }
  variables["messages"] = masked.messages;
  variables["tools"] = masked.tools;
  variables["add_generation_prompt"] =
      conversation.add_generation_prompt && !conversation.continue_final_message;
  const bool tagged =
      conversation.continue_final_message && tag_final_message(variables["messages"]);
  if (conversation.continue_final_message && !tagged) {
    return fail(ErrorCode::invalid_request, "there is no final message to continue");
  }
  auto rendered = compiled(conversation).render(variables, conversation.now.value_or(-1));
  if (rendered && tagged) return cut_at_tag(std::move(*rendered));
  return rendered;
}

Result<RenderedChat> JinjaTemplate::render_once(const Conversation& conversation) const {
  const auto masked = mask_.mask(conversation);
  auto rendered = render_text(conversation, masked);
  if (!rendered) return fail(rendered.error());
  if (masked.found) return RenderedChat{mask_.split(*rendered, masked)};
  return RenderedChat{{{std::move(*rendered), true}}};
}

Result<RenderedChat> JinjaTemplate::render(const Conversation& asked) const {
  const Conversation conversation = normalised(asked);
  auto first = render_once(conversation);
  if (first || first.error().code == ErrorCode::internal) return first;
  for (const auto rework : {with_system_first, with_system_in_user}) {
    const Conversation other = rework(conversation);
    if (!asked.retry_merged || other.messages == conversation.messages) continue;
    if (auto again = render_once(other)) return again;
  }
  return fail(ErrorCode::invalid_request, "prompt build failed: " + first.error().message,
              "messages");
}

/// A piece from inside a text is encoded after a newline, so that a tokenizer which puts a space
/// before a text does not put one here.
Result<std::vector<TokenId>> JinjaTemplate::encode_piece(const Segment& segment, bool first) const {
  const EncodeOptions options{.add_special = false, .parse_markers = segment.trusted};
  if (first) return tokenizer_->encode(segment.text, options);
  const auto newline = tokenizer_->encode("\n", {});
  if (!newline) return newline;
  auto ids = tokenizer_->encode("\n" + segment.text, options);
  if (!ids) return ids;
  if (ids->size() < newline->size() ||
      !std::equal(newline->begin(), newline->end(), ids->begin())) {
    return tokenizer_->encode(segment.text, options);
  }
  ids->erase(ids->begin(), ids->begin() + static_cast<std::ptrdiff_t>(newline->size()));
  return ids;
}

Result<std::vector<TokenId>> JinjaTemplate::encode(const Conversation& conversation) const {
  const auto rendered = render(conversation);
  if (!rendered) return fail(rendered.error());
  std::vector<TokenId> ids;
  for (const Segment& segment : rendered->segments) {
    const auto piece = encode_piece(segment, &segment == rendered->segments.data());
    if (!piece) return piece;
    ids.insert(ids.end(), piece->begin(), piece->end());
  }
  const auto bos = tokenizer_->bos_id();
  if (bos && ids.size() > 1 && ids[0] == *bos && ids[1] == *bos) ids.erase(ids.begin());
  return ids;
}

/// Where a folder keeps its templates: by name, "default" and "tool_use" among them.
struct Sources {
  std::optional<std::string> main, tool_use;
};

Sources sources_in(const Json& value) {
  Sources sources;
  if (value.is_string()) sources.main = value.get<std::string>();
  const auto named = [&](const Json& name, const Json& text) {
    if (!name.is_string() || !text.is_string()) return;
    if (name == "default" || (!sources.main && name != "tool_use")) sources.main = text;
    if (name == "tool_use") sources.tool_use = text;
  };
  if (value.is_array()) {
    for (const Json& entry : value) {
      if (entry.is_object()) named(entry.value("name", Json()), entry.value("template", Json()));
    }
  } else if (value.is_object()) {
    for (const auto& [name, text] : value.items()) named(name, text);
  }
  if (!sources.main) std::swap(sources.main, sources.tool_use);
  return sources;
}

Result<Sources> find_sources(const fs::path& folder) {
  if (const auto path = folder / "chat_template.jinja"; fs::exists(path)) {
    auto text = read_file(path);
    if (!text) return fail(text.error());
    Sources sources{std::move(*text), {}};
    if (auto tools = read_file(folder / "additional_chat_templates" / "tool_use.jinja")) {
      sources.tool_use = std::move(*tools);
    }
    return sources;
  }
  for (const char* name : {"tokenizer_config.json", "chat_template.json"}) {
    if (!fs::exists(folder / name)) continue;
    const auto document = read_json_file(folder / name);
    if (!document) return fail(document.error());
    if (!document->is_object() || !document->contains("chat_template")) continue;
    Sources sources = sources_in((*document)["chat_template"]);
    if (sources.main) return sources;
  }
  return fail(ErrorCode::not_found,
              fmt::format("{}: no chat template; looked for chat_template.jinja, and for "
                          "\"chat_template\" in tokenizer_config.json and chat_template.json",
                          folder.string()));
}

Result<std::shared_ptr<const ChatTemplate>> make(Sources sources,
                                                 std::shared_ptr<const Tokenizer> tokenizer) {
  auto main = Compiled::make(std::move(*sources.main));
  if (!main) return fail(main.error());
  std::optional<Compiled> tool_use;
  if (sources.tool_use) {
    auto made = Compiled::make(std::move(*sources.tool_use));
    if (!made) return fail(made.error());
    tool_use = std::move(*made);
  }
  return std::make_shared<JinjaTemplate>(std::move(*main), std::move(tool_use),
                                         std::move(tokenizer));
}

}  // namespace

std::string RenderedChat::text() const {
  std::string joined;
  for (const Segment& segment : segments) joined += segment.text;
  return joined;
}

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::load(
    const fs::path& folder, std::shared_ptr<const Tokenizer> tokenizer) {
  auto sources = find_sources(folder);
  if (!sources) return fail(sources.error());
  auto made = make(std::move(*sources), std::move(tokenizer));
  if (!made) {
    return fail(made.error().code, fmt::format("{}: {}", folder.string(), made.error().message));
  }
  return made;
}

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::from_source(
    std::string_view source, std::shared_ptr<const Tokenizer> tokenizer) {
  return make({std::string(source), {}}, std::move(tokenizer));
}

}  // namespace hearth::text
