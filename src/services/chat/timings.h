// How long an answer took: the `hearth` object of answers and the header X-Hearth-Timings.
#pragma once

#include "base/json.h"
#include "services/chat/event.h"

namespace hearth::services {

/// {"queue_ms": until the engine admitted it, "ttft_ms": from arrival to the first token,
///  "prefill_tps", "decode_tps": tokens a second}; null for what there was none of.
Json timings(const Usage& usage);

}  // namespace hearth::services
