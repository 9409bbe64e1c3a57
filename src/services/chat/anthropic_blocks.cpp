#include "services/chat/anthropic_blocks.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "services/chat/base64.h"
#include "services/chat/fields.h"
#include "services/chat/origins.h"

namespace hearth::services {
namespace {

Result<std::string> text_field(const Json& block, const std::string& where, const char* name) {
  const Json* text = field(block, name);
  if (!text || !text->is_string()) {
    return fail(wrong_value(fmt::format("{}.{}", where, name), text ? *text : Json(), "a string"));
  }
  return text->get<std::string>();
}

Result<Json> image_part(const Json& block, const std::string& where) {
  const std::string at = where + ".source";
  const Json* source = field(block, "source");
  const Json* type = source && source->is_object() ? field(*source, "type") : nullptr;
  std::string url;
  if (type && *type == "url") {
    auto given = text_field(*source, at, "url");
    if (!given) return fail(given.error());
    url = std::move(*given);
  } else if (type && *type == "base64") {
    auto data = text_field(*source, at, "data");
    auto media = text_field(*source, at, "media_type");
    if (!data) return fail(data.error());
    if (!media) return fail(media.error());
    url = fmt::format("data:{};base64,{}", *media, *data);
  } else {
    return fail(wrong_value(at + ".type", type ? *type : Json(), "\"base64\" or \"url\""));
  }
  return Json{{"type", "image_url"}, {"image_url", {{"url", std::move(url)}}}};
}

/// `{"type":"text","media_type","data"}`, `{"type":"content","content"}`, or base64 of plain text.
Result<Json> document_parts(const Json& block, const std::string& where) {
  const std::string at = where + ".source";
  const Json* source = field(block, "source");
  const Json* type = source && source->is_object() ? field(*source, "type") : nullptr;
  if (type && *type == "content") return parts_of(field(*source, "content"), at + ".content");
  std::string text;
  if (type && (*type == "text" || *type == "base64")) {
    auto data = text_field(*source, at, "data");
    if (!data) return fail(data.error());
    text = std::move(*data);
  }
  if (type && *type == "base64") {
    const Json* media = field(*source, "media_type");
    const bool plain =
        media && media->is_string() && media->get_ref<const std::string&>().starts_with("text/");
    auto bytes = plain ? base64_decode(text) : std::nullopt;
    if (!bytes) {
      return fail(wrong_value(at + ".media_type", media ? *media : Json(),
                              "text: of documents only plain text can be read"));
    }
    text = std::move(*bytes);
  } else if (!type || *type != "text") {
    return fail(wrong_value(at + ".type", type ? *type : Json(),
                            "\"text\", \"content\", or \"base64\" of plain text"));
  }
  return Json::array({{{"type", "text"}, {"text", std::move(text)}}});
}

void append_parts(const Json& more, std::string_view between, Json& parts) {
  for (const Json& part : more) {
    if (part["type"] == "text") {
      append_text(parts, part["text"].get_ref<const std::string&>(), between);
    } else {
      parts.push_back(part);
    }
  }
}

/// Title and source of a document or a search result open its text.
void append_heading(const Json& block, std::string_view between, Json& parts) {
  for (const char* name : {"title", "source", "context"}) {
    const Json* text = field(block, name);
    if (text && text->is_string()) {
      append_text(parts, text->get_ref<const std::string&>(), between);
    }
  }
}

}  // namespace

Result<std::string> block_type(const Json& block, const std::string& where) {
  const Json* type = block.is_object() ? field(block, "type") : nullptr;
  if (!type || !type->is_string()) {
    return fail(wrong_value(where, block, "a content block: an object with a type"));
  }
  return type->get<std::string>();
}

Result<bool> append_block(const Json& block, const std::string& where, std::string_view between,
                          Json& parts) {
  auto type = block_type(block, where);
  if (!type) return fail(type.error());
  if (*type == "text") {
    auto text = text_field(block, where, "text");
    if (!text) return fail(text.error());
    append_text(parts, *text, between);
  } else if (*type == "image") {
    auto part = image_part(block, where);
    if (!part) return fail(part.error());
    parts.push_back(std::move(*part));
  } else if (*type == "document" || *type == "search_result") {
    auto more = *type == "document" ? document_parts(block, where)
                                    : parts_of(field(block, "content"), where + ".content");
    if (!more) return fail(more.error());
    append_heading(block, between, parts);
    append_parts(*more, between, parts);
  } else if (*type == "input_audio" || *type == "audio" || *type == "audio_url") {
    return fail(ErrorCode::invalid_request,
                fmt::format("{}: no audio on this route; send \"{}\" parts to /v1/chat/completions",
                            where, *type),
                where);
  } else {
    return false;
  }
  return true;
}

Result<Json> parts_of(const Json* content, const std::string& where) {
  Json parts = Json::array();
  if (!content) return parts;
  if (content->is_string()) {
    append_text(parts, content->get_ref<const std::string&>(), "");
    return parts;
  }
  if (!content->is_array()) return fail(wrong_value(where, *content, "a string or a list"));
  for (std::size_t i = 0; i < content->size(); ++i) {
    const std::string at = fmt::format("{}[{}]", where, i);
    auto known = append_block((*content)[i], at, "\n", parts);
    if (!known) return fail(known.error());
    if (!*known) {
      log::warn("{}: a block of type {} is left out", at, (*content)[i]["type"].dump());
    }
  }
  return parts;
}

}  // namespace hearth::services
