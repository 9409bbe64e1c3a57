#include "services/chat/sampling_values.h"

#include <algorithm>

namespace hearth::services {
namespace {

constexpr float built_in_temperature = 0.7f;

float temperature(const SamplingFields& fields, const ServerDefaults& flags,
                  const GenerationDefaults& model, bool thinking) {
  if (fields.temperature) return *fields.temperature;
  if (flags.temperature) return *flags.temperature;
  const float own = model.temperature.value_or(built_in_temperature);
  return thinking ? own : std::min(own, built_in_temperature);
}

}  // namespace

engine::Sampling sampling_values(const SamplingFields& fields, const ServerDefaults& flags,
                                 const GenerationDefaults& model, bool thinking) {
  engine::Sampling s;
  const auto first = [](auto otherwise, auto... options) {
    ((options && (otherwise = *options, true)) || ...);
    return otherwise;
  };
  s.temperature = temperature(fields, flags, model, thinking);
  s.top_p = first(0.f, fields.top_p, flags.top_p, model.top_p);
  s.top_k = first(0, fields.top_k, flags.top_k, model.top_k);
  s.min_p = first(0.f, fields.min_p, model.min_p);
  s.repetition_penalty = first(0.f, fields.repetition_penalty, model.repetition_penalty);
  s.xtc_probability = fields.xtc_probability.value_or(s.xtc_probability);
  s.xtc_threshold = fields.xtc_threshold.value_or(s.xtc_threshold);
  s.presence_penalty = fields.presence_penalty.value_or(s.presence_penalty);
  s.frequency_penalty = fields.frequency_penalty.value_or(s.frequency_penalty);
  s.repetition_context_size = fields.repetition_context_size.value_or(s.repetition_context_size);
  s.presence_context_size = fields.presence_context_size.value_or(s.presence_context_size);
  s.frequency_context_size = fields.frequency_context_size.value_or(s.frequency_context_size);
  s.logit_bias = fields.logit_bias;
  s.seed = fields.seed;
  return s;
}

}  // namespace hearth::services
