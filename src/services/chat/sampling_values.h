// Where each sampling value comes from: the request, a server flag, the model, or built in.
#pragma once

#include "engine/sampling.h"
#include "services/chat/request.h"
#include "services/model.h"

namespace hearth::services {

/// The first that is set wins. A temperature that neither request nor flag names is at most 0.7
/// unless the turn thinks.
engine::Sampling sampling_values(const SamplingFields& fields, const ServerDefaults& flags,
                                 const GenerationDefaults& model, bool thinking);

}  // namespace hearth::services
