#include "services/chat/call_id.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <random>

namespace hearth::services {
namespace {

constexpr std::size_t short_size = 9;

std::string short_id(const std::string& id) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0; };
  if (id.size() == short_size && std::ranges::all_of(id, fits)) return id;
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a
  for (const unsigned char c : id) hash = (hash ^ c) * 1099511628211ULL;
  constexpr std::string_view letters =
      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string out;
  for (; out.size() < short_size; hash /= letters.size()) out += letters[hash % letters.size()];
  return out;
}

void shorten(Json& object, const char* key) {
  const auto id = object.find(key);
  if (id != object.end() && id->is_string()) *id = short_id(id->get<std::string>());
}

}  // namespace

std::string new_call_id() {
  thread_local std::mt19937_64 random{std::random_device{}() * 0x100000001ULL ^
                                      std::random_device{}()};
  return fmt::format("call_{:016x}{:08x}", random(), random() & 0xffffffff);
}

bool wants_short_call_ids(std::string_view chat_template) {
  return chat_template.find("length != 9") != chat_template.npos;
}

Json with_short_call_ids(Json messages) {
  for (Json& message : messages) {
    shorten(message, "tool_call_id");
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array()) continue;
    for (Json& call : *calls) shorten(call, "id");
  }
  return messages;
}

}  // namespace hearth::services
