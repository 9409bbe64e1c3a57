#include "services/chat/ollama_options.h"

#include <fmt/format.h>

#include <limits>
#include <string>
#include <utility>

#include "services/chat/effort.h"
#include "services/chat/fields.h"
#include "services/chat/options.h"

namespace hearth::services {
namespace {

constexpr EffortLevel ollama_efforts[] = {
    {"low", "low"}, {"medium", "medium"}, {"high", "xhigh"}, {"max", "xhigh"}};

constexpr int usual_look_back = 64;  // Ollama's repeat_last_n

/// Ollama's names of sampling fields, and ours.
constexpr std::pair<const char*, const char*> same_meaning[] = {
    {"temperature", "temperature"},
    {"top_k", "top_k"},
    {"top_p", "top_p"},
    {"min_p", "min_p"},
    {"seed", "seed"},
    {"repeat_penalty", "repetition_penalty"},
    {"presence_penalty", "presence_penalty"},
    {"frequency_penalty", "frequency_penalty"}};

tl::unexpected<Error> option_error(Error error, std::string_view ours, std::string_view theirs) {
  if (const auto at = error.message.find(ours); at != std::string::npos) {
    error.message.replace(at, ours.size(), fmt::format("options.{}", theirs));
  }
  error.param = fmt::format("options.{}", theirs);
  return fail(std::move(error));
}

/// `repeat_last_n`: how far penalties look back; 0 switches them off, -1 is all of it.
Result<void> read_look_back(const Json& options, SamplingFields& fields) {
  auto sent = read_integer(options, "repeat_last_n", -1, 1 << 30);
  if (!sent) return option_error(sent.error(), "repeat_last_n", "repeat_last_n");
  const auto n = sent->value_or(usual_look_back);
  if (n == 0) {
    fields.repetition_penalty.reset();
    fields.presence_penalty.reset();
    fields.frequency_penalty.reset();
    return {};
  }
  const int look_back = n < 0 ? 0 : int(n);
  if (fields.repetition_penalty) fields.repetition_context_size = look_back;
  if (fields.presence_penalty) fields.presence_context_size = look_back;
  if (fields.frequency_penalty) fields.frequency_context_size = look_back;
  return {};
}

Result<SamplingFields> ollama_sampling(const Json& options) {
  SamplingFields fields;
  for (const auto& [theirs, ours] : same_meaning) {
    const Json* value = field(options, theirs);
    if (!value) continue;
    auto one = read_sampling(Json{{ours, *value}});
    if (!one) return option_error(one.error(), ours, theirs);
    const auto take = [](auto& to, const auto& from) {
      if (from) to = from;
    };
    take(fields.temperature, one->temperature);
    take(fields.top_k, one->top_k);
    take(fields.top_p, one->top_p);
    take(fields.min_p, one->min_p);
    take(fields.seed, one->seed);
    take(fields.repetition_penalty, one->repetition_penalty);
    take(fields.presence_penalty, one->presence_penalty);
    take(fields.frequency_penalty, one->frequency_penalty);
  }
  // -1 and -2 ask for all there is room for, and so does 0.
  auto limit = read_integer(options, "num_predict", -2, std::numeric_limits<int>::max());
  if (!limit) return option_error(limit.error(), "num_predict", "num_predict");
  if (limit->value_or(0) > 0) fields.max_tokens = int(**limit);
  if (auto read = read_look_back(options, fields); !read) return fail(read.error());
  return fields;
}

/// `format`: "json", or a JSON schema.
Result<std::optional<Constraint>> ollama_format(const Json& body) {
  const Json* format = field(body, "format");
  if (!format || *format == "") return std::nullopt;
  if (*format == "json") return Constraint{.kind = Constraint::Kind::json_object};
  if (!format->is_object())
    return fail(wrong_value("format", *format, "\"json\" or a JSON schema"));
  return Constraint{.kind = Constraint::Kind::json_schema, .schema = *format, .strict = true};
}

}  // namespace

Result<void> read_ollama_options(const Json& body, Request& request) {
  if (auto named = read_string(body, "model"); !named) return fail(named.error());
  const Json none = Json::object();
  const Json* sent = field(body, "options");
  if (sent && !sent->is_object()) return fail(wrong_value("options", *sent, "an object"));
  const Json& options = sent ? *sent : none;
  auto sampling = ollama_sampling(options);
  if (!sampling) return fail(sampling.error());
  request.sampling = std::move(*sampling);
  auto stop = read_stop(options);
  if (!stop) return option_error(stop.error(), "stop", "stop");
  request.stop = std::move(*stop);
  auto logprobs = read_logprobs(body);
  if (!logprobs) return fail(logprobs.error());
  request.top_logprobs = *logprobs;
  auto constraint = ollama_format(body);
  if (!constraint) return fail(constraint.error());
  request.constraint = std::move(*constraint);
  auto stream = read_bool(body, "stream");
  if (!stream) return fail(stream.error());
  request.stream = stream->value_or(true);
  const Json* keep = field(body, "keep_alive");
  if (keep && !keep->is_number() && !keep->is_string()) {
    return fail(wrong_value("keep_alive", *keep, "seconds, or a duration such as \"5m\""));
  }
  return {};
}

Result<Json> ollama_kwargs(const Json& body) {
  Json kwargs = Json::object();
  const Json* think = field(body, "think");
  if (!think) return kwargs;
  if (think->is_boolean()) {
    kwargs["enable_thinking"] = *think;
    return kwargs;
  }
  auto applied = apply_effort(think, "think", ollama_efforts, kwargs);
  if (!applied) {
    return fail(
        wrong_value("think", *think, "true, false, \"low\", \"medium\", \"high\" or \"max\""));
  }
  return kwargs;
}

}  // namespace hearth::services
