#include <fmt/format.h>

#include <algorithm>

#include "cli/launch/client.h"

namespace hearth::cli {
namespace {

// Imports nothing but pi's own types. @1 is the JSON of what was true when the file was written.
constexpr std::string_view source =
    R"ts(// written by hearth: `hearth harness pi --remove` deletes this file
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const written = @1;
const base = (process.env.HEARTH_URL || written.base).replace(/\/+$/, "").replace(/\/v1$/, "");
const key = process.env.HEARTH_API_KEY || written.key;

async function ask(path: string) {
  const response = await fetch(base + path, {
    headers: { Authorization: `Bearer ${key}` },
    signal: AbortSignal.timeout(2000),
  });
  if (!response.ok) throw new Error(`${path}: HTTP ${response.status}`);
  return response.json();
}

/** The served model; what was true when this file was written while the server is down. */
async function served() {
  try {
    const row = (await ask("/v1/models")).data.find((model) => model.context_window > 0);
    return row
      ? { id: row.id, context: row.context_window, reasoning: !!row.reasoning, vision: !!row.vision }
      : written.model;
  } catch {
    return written.model;
  }
}

export default async function (pi: ExtensionAPI) {
  const model = await served();
  let adapter: string | undefined;

  pi.registerProvider("hearth", {
    name: "hearth",
    baseUrl: base + "/v1",
    apiKey: key,
    api: "openai-completions",
    models: [
      {
        id: "local",
        name: model.id,
        reasoning: model.reasoning,
        input: model.vision ? ["text", "image"] : ["text"],
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
        contextWindow: model.context,
        maxTokens: Math.min(8192, model.context),
        compat: {
          supportsDeveloperRole: false,
          supportsStore: false,
          maxTokensField: "max_tokens",
          ...(model.reasoning ? { thinkingFormat: "qwen-chat-template" } : {}),
        },
      },
    ],
  });

  const isOurs = (ctx) => ctx.model?.provider === "hearth";

  pi.on("before_provider_headers", (event, ctx) => {
    if (isOurs(ctx)) event.headers["x-session-affinity"] = ctx.sessionManager.getSessionId();
  });

  pi.on("before_provider_request", (event, ctx) => {
    if (isOurs(ctx) && adapter) return { ...event.payload, adapter };
  });

  pi.registerCommand("adapter", {
    description: "hearth's adapters: list them, or use ID or off",
    handler: async (args, ctx) => {
      const wanted = args.trim();
      try {
        const names = (await ask("/v1/adapters")).adapters.map((one) => one.id);
        if (wanted === "off") adapter = undefined;
        else if (names.includes(wanted)) adapter = wanted;
        else if (wanted) return ctx.ui.notify(`no adapter ${wanted}; there are: ${names.join(", ") || "none"}`, "error");
        ctx.ui.notify(`adapters: ${names.join(", ") || "none"}; in use: ${adapter ?? "none"}`, "info");
      } catch (error) {
        ctx.ui.notify(`the adapters of ${base} are not known: ${error}`, "error");
      }
    },
  });
}
)ts";

}  // namespace

std::string pi_extension(const Target& target) {
  const Json written{{"base", target.base_url},
                     {"key", target.api_key},
                     {"model",
                      {{"id", target.model},
                       {"context", target.context_length},
                       {"reasoning", target.reasoning},
                       {"vision", target.vision}}}};
  std::string out(source);
  out.replace(out.find("@1"), 2, written.dump(2));
  return out;
}

}  // namespace hearth::cli
