// The flags of the prompt cache and of generation checkpoints, which live beside its files.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/option.h"
#include "services/model.h"

namespace hearth::cli {

class CacheFlags {
 public:
  enum class Tiers { memory, memory_and_files };

  void declare(OptionTable& table, Tiers tiers);
  /// Error: usage, where flags need one another.
  Result<void> check() const;
  /// Adds what was asked for.
  void apply(engine::EngineOptions& options) const;
  /// Bytes of the prompt caches of all models together: the flag, else default_prompt_cache() of
  /// this machine when that was asked first.
  std::uint64_t memory() const;

 private:
  std::optional<std::uint64_t> prompt_cache_, files_max_;
  mutable std::optional<std::uint64_t> by_default_;
  std::string files_;
  bool verify_ = false;
  std::optional<int> demote_idle_, checkpoint_every_;
};

/// Bytes of the prompt cache when nothing is said: 2 GiB or a tenth of the memory, whichever is
/// larger, but no more than half of what is free.
std::uint64_t default_prompt_cache(std::uint64_t memory, std::uint64_t free);

}  // namespace hearth::cli
