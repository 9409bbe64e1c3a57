// The flags that say how the engine runs: shared by every verb that loads a model.
#pragma once

#include "cli/option.h"
#include "services/model.h"

namespace hearth::cli {

struct EngineFlags {
  bool l1 = false;
  std::string device = "auto";
  int threads = 0;

  void declare(OptionTable& table);
  engine::EngineOptions options() const;
};

}  // namespace hearth::cli
