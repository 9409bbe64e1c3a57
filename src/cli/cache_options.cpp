#include "cli/cache_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/memory.h"
#include "cli/size.h"

namespace hearth::cli {
namespace {

Option size(std::string_view name, std::optional<std::uint64_t>* field, std::string help) {
  Option option = text(name, "GiB", static_cast<std::string*>(nullptr), std::move(help));
  option.set = [field](std::string_view text) -> Result<void> {
    *field = parse_size(text, SizeUnit::gibibytes);
    if (*field) return {};
    return fail(ErrorCode::usage, "a size such as 4, 0.5 or 900MB, in GiB when it has no unit");
  };
  return option;
}

}  // namespace

void CacheFlags::declare(OptionTable& table, Tiers tiers) {
  table.section("Prompt cache");
  table.add(size("--prompt-cache", &prompt_cache_,
                 "memory for prompts and answers that later prompts begin with, which all loaded "
                 "models share equally; 0 keeps none")
                .with_default("2 GiB or a tenth of memory, at most half of what is free"));
  for (const char* name : {"--prompt-cache-size", "--prompt-cache-bytes"}) {
    table.add(refused(name, "is --prompt-cache here, which counts GiB"));
  }
  if (tiers == Tiers::memory) return;
  table.add(text("--ssd-cache", "DIR", &files_,
                 "a folder in which they survive restarts, for any number of models")
                .with_default("none"));
  table.add(size("--ssd-cache-max", &files_max_,
                 "most that the files of all models there take, oldest out; 0: no limit")
                .with_default("32"));
  table.add(flag("--ssd-cache-verify", &verify_,
                 "check every file at the start; each is checked when it is read anyway"));
  table.add(whole("--ssd-demote-idle", "SECONDS", &demote_idle_, 0, 1 << 30,
                  "what is in files and unused for so long leaves memory; 0: never")
                .with_default("300"));
  table.add(whole("--generation-checkpoint", "N", &checkpoint_every_, 1, 1 << 30,
                  "keep every answer there each N tokens: the same request after a crash goes on "
                  "from it")
                .with_default("never"));
}

Result<void> CacheFlags::check() const {
  if (!files_.empty()) {
    if (prompt_cache_ != 0u) return {};
    return fail(ErrorCode::usage, "--ssd-cache needs memory: --prompt-cache must not be 0");
  }
  const char* alone = files_max_          ? "--ssd-cache-max"
                      : verify_           ? "--ssd-cache-verify"
                      : demote_idle_      ? "--ssd-demote-idle"
                      : checkpoint_every_ ? "--generation-checkpoint"
                                          : nullptr;
  if (!alone) return {};
  return fail(ErrorCode::usage, fmt::format("{} needs --ssd-cache DIR", alone));
}

void CacheFlags::apply(engine::EngineOptions& options) const {
  options.prompt_cache.max_bytes = memory();
  options.prompt_cache.disk = files_;
  if (files_max_) options.prompt_cache.disk_max_bytes = *files_max_;
  options.prompt_cache.disk_verify = verify_;
  options.checkpoint_every = checkpoint_every_.value_or(0);
  if (demote_idle_) options.prompt_cache.demote_idle = std::chrono::seconds(*demote_idle_);
}

std::uint64_t CacheFlags::memory() const {
  if (prompt_cache_) return *prompt_cache_;
  if (!by_default_) by_default_ = default_prompt_cache(model_memory(), free_memory());
  return *by_default_;
}

std::uint64_t default_prompt_cache(std::uint64_t memory, std::uint64_t free) {
  constexpr std::uint64_t least = std::uint64_t{2} << 30;
  return std::min(std::max(least, memory / 10), free / 2);
}

}  // namespace hearth::cli
