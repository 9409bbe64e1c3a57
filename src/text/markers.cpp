#include "text/markers.h"

#include <algorithm>
#include <array>
#include <optional>

namespace hearth::text {
namespace {

/// Markers that templates look for in an assistant's content.
constexpr std::array<std::string_view, 10> reasoning_markers = {
    "<think>",           "</think>",      "[THINK]",
    "[/THINK]",          "<|channel>",    "<channel|>",
    "<seed:think>",      "</seed:think>", "<|begin_of_thought|>",
    "<|end_of_thought|>"};

bool is_reasoning(std::string_view marker) {
  return std::find(reasoning_markers.begin(), reasoning_markers.end(), marker) !=
         reasoning_markers.end();
}

/// The noncharacter U+FDD0 + index.
std::string noncharacter(int index) {
  return std::string{'\xEF', '\xB7', static_cast<char>(0x90 + index)};
}

bool mentions(const Json& json, std::string_view what) {
  if (json.is_string()) return json.get_ref<const std::string&>().find(what) != std::string::npos;
  if (!json.is_structured()) return false;
  return std::any_of(json.begin(), json.end(),
                     [&](const Json& inner) { return mentions(inner, what); });
}

/// A pair of noncharacters that the conversation does not hold; the first one if it holds all.
int free_pair(const Conversation& conversation) {
  for (int pair = 0; pair < 32; pair += 2) {
    const std::string open = noncharacter(pair), close = noncharacter(pair + 1);
    const auto free = [&](const Json& json) {
      return !mentions(json, open) && !mentions(json, close);
    };
    if (free(conversation.messages) && free(conversation.tools) && free(conversation.kwargs)) {
      return pair;
    }
  }
  return 0;
}

}  // namespace

/// One pass over a conversation's values.
struct MarkerMask::Walk {
  const MarkerMask& mask;
  std::string open, close;
  bool found = false;

  /// The marker that begins at `at`, or null.
  const std::string* marker_at(std::string_view text, std::size_t at, bool own_reasoning) const {
    for (const std::string& marker : mask.markers_) {
      if (text.substr(at, marker.size()) != marker) continue;
      return own_reasoning && is_reasoning(marker) ? nullptr : &marker;
    }
    return nullptr;
  }

  std::string text(const std::string& original, bool own_reasoning) {
    std::string out;
    std::size_t from = 0;
    for (std::size_t at = 0; at < original.size();) {
      const std::string* marker = marker_at(original, at, own_reasoning);
      if (!marker) {
        ++at;
        continue;
      }
      out.append(original, from, at - from).append(open).append(*marker).append(close);
      at += marker->size();
      from = at;
      found = true;
    }
    return out.append(original, from);
  }

  void value(Json& json, bool own_reasoning) {
    if (json.is_string()) {
      json = text(json.get_ref<const std::string&>(), own_reasoning);
    } else if (json.is_structured()) {
      for (Json& inner : json) value(inner, own_reasoning);
    }
  }

  void message(Json& json) {
    if (!json.is_object()) return value(json, false);
    const bool assistant = json.value("role", Json()) == "assistant";
    for (auto& [key, inner] : json.items()) {
      if (key == "role") continue;
      value(inner, assistant && key == "content");
    }
  }
};

MarkerMask::MarkerMask(std::vector<std::string> markers) : markers_(std::move(markers)) {
  std::erase_if(markers_, [](const std::string& marker) { return marker.empty(); });
  std::stable_sort(markers_.begin(), markers_.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
}

MarkerMask::Masked MarkerMask::mask(const Conversation& conversation) const {
  Masked masked{conversation.messages, conversation.tools, conversation.kwargs, false, {}, {}};
  const int pair = free_pair(conversation);
  Walk walk{*this, noncharacter(pair), noncharacter(pair + 1)};
  for (Json& message : masked.messages) walk.message(message);
  walk.value(masked.tools, false);
  walk.value(masked.kwargs, false);
  masked.found = walk.found;
  masked.open = walk.open;
  masked.close = walk.close;
  return masked;
}

std::vector<Segment> MarkerMask::split(std::string_view rendered, const Masked& masked) const {
  std::vector<Segment> segments;
  const auto add = [&](std::string_view text, bool trusted) {
    if (!text.empty()) segments.push_back({std::string(text), trusted});
  };
  std::size_t from = 0;
  while (from <= rendered.size()) {
    const std::size_t at =
        std::min(rendered.find(masked.open, from), rendered.find(masked.close, from));
    add(rendered.substr(from, at == rendered.npos ? at : at - from), true);
    if (at == rendered.npos) break;
    from = at + masked.open.size();
    if (!rendered.substr(at).starts_with(masked.open)) continue;
    const std::string_view rest = rendered.substr(from);
    for (const std::string& marker : markers_) {
      if (!rest.starts_with(marker) || !rest.substr(marker.size()).starts_with(masked.close))
        continue;
      add(marker, false);
      from += marker.size() + masked.close.size();
      break;
    }
  }
  return segments;
}

}  // namespace hearth::text
