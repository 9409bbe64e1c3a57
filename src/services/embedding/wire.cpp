#include "services/embedding/wire.h"

#include <bit>

#include "services/chat/base64.h"
#include "services/chat/fields.h"

namespace hearth::services {
namespace {

using Ids = std::vector<text::TokenId>;

constexpr std::string_view expected_input =
    "a text, a list of texts, a list of token ids or a list of such lists";

Result<Ids> read_ids(const Json& list) {
  Ids ids;
  for (const Json& id : list) {
    const double value = id.is_number_integer() ? id.get<double>() : -1;
    if (value < 0 || value > double(1 << 30)) {
      return fail(wrong_value("input", id, "a token id"));
    }
    ids.push_back(id.get<text::TokenId>());
  }
  return ids;
}

Result<EmbeddingInput> read_item(const Json& item) {
  if (item.is_string()) return EmbeddingInput(item.get<std::string>());
  if (!item.is_array()) return fail(wrong_value("input", item, expected_input));
  auto ids = read_ids(item);
  if (!ids) return fail(ids.error());
  return EmbeddingInput(std::move(*ids));
}

Result<std::vector<EmbeddingInput>> read_input(const Json& body) {
  const Json* input = field(body, "input");
  if (!input) return fail(wrong_value("input", Json(), expected_input));
  std::vector<EmbeddingInput> inputs;
  const bool one =
      input->is_string() || (input->is_array() && !input->empty() && input->front().is_number());
  if (one) {
    auto item = read_item(*input);
    if (!item) return fail(item.error());
    inputs.push_back(std::move(*item));
    return inputs;
  }
  if (!input->is_array()) return fail(wrong_value("input", *input, expected_input));
  if (input->size() > std::size_t(EmbeddingRequest::most_inputs)) {
    return fail(ErrorCode::invalid_request, "`input` has more than 2048 items", "input");
  }
  for (const Json& item : *input) {
    auto read = read_item(item);
    if (!read) return fail(read.error());
    inputs.push_back(std::move(*read));
  }
  return inputs;
}

std::string packed(const std::vector<float>& vector) {
  static_assert(std::endian::native == std::endian::little);
  return base64_encode(
      {reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)});
}

}  // namespace

Result<EmbeddingCall> parse_embeddings(const Json& body) {
  EmbeddingCall call;
  auto inputs = read_input(body);
  if (!inputs) return fail(inputs.error());
  call.request.inputs = std::move(*inputs);
  auto format = read_string(body, "encoding_format");
  if (!format) return fail(format.error());
  call.base64 = *format == "base64";
  if (*format && !call.base64 && **format != "float") {
    return fail(wrong_value("encoding_format", **format, "\"float\" or \"base64\""));
  }
  auto dimensions = read_integer(body, "dimensions", 1, 1 << 20);
  if (!dimensions) return fail(dimensions.error());
  if (*dimensions) call.request.dimensions = int(**dimensions);
  auto instruction = read_string(body, "instruction");
  if (!instruction) return fail(instruction.error());
  call.request.instruction = *instruction;
  auto prompt = read_string(body, "prompt_name");
  if (!prompt) return fail(prompt.error());
  call.request.prompt_name = *prompt;
  auto truncate = read_bool(body, "truncate");
  if (!truncate) return fail(truncate.error());
  call.request.truncate = truncate->value_or(false);
  return call;
}

Json embeddings_reply(const Embeddings& embeddings, const std::string& model, bool base64) {
  Json data = Json::array();
  for (const auto& vector : embeddings.vectors) {
    Json row{{"object", "embedding"}, {"index", data.size()}};
    row["embedding"] = base64 ? Json(packed(vector)) : Json(vector);
    data.push_back(std::move(row));
  }
  return {{"object", "list"},
          {"data", std::move(data)},
          {"model", model},
          {"usage", {{"prompt_tokens", embeddings.tokens}, {"total_tokens", embeddings.tokens}}}};
}

}  // namespace hearth::services
