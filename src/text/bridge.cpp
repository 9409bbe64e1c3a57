#include "text/bridge.h"

namespace hearth::text {

std::string take(tb_bytes bytes) {
  std::string text;
  if (bytes.data) text.assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
  tb_bytes_free(bytes);
  return text;
}

std::vector<std::uint32_t> take(tb_ids ids) {
  std::vector<std::uint32_t> values;
  if (ids.data) values.assign(ids.data, ids.data + ids.size);
  tb_ids_free(ids);
  return values;
}

Error bridge_error(tb_status status, tb_bytes words, ErrorCode failed) {
  std::string message = take(words);
  switch (status) {
    case TB_INVALID_UTF8:
      return {ErrorCode::invalid_request, std::move(message)};
    case TB_PANICKED:
      return {ErrorCode::internal, "the text library failed: " + message};
    default:
      return {failed, std::move(message)};
  }
}

}  // namespace hearth::text
