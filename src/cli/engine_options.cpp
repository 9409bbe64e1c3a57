#include "cli/engine_options.h"

#include <algorithm>

namespace hearth::cli {
namespace {

bool is_device(std::string_view text) {
  for (const std::string_view known : {"auto", "gpu", "cpu", "cuda", "metal"}) {
    if (text == known) return true;
  }
  constexpr std::string_view numbered = "cuda:";
  if (!text.starts_with(numbered)) return false;
  text.remove_prefix(numbered.size());
  return !text.empty() && text.size() <= 3 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Option device_option(std::string* field) {
  Option option =
      text("--device", "DEVICE", field, "what to compute on: auto, gpu, cpu, cuda[:N] or metal");
  option.fallback = "auto";
  option.env = "HEARTH_DEVICE";
  option.set = [field](std::string_view text) -> Result<void> {
    if (!is_device(text))
      return fail(ErrorCode::usage, "one of auto, gpu, cpu, cuda, cuda:N, metal");
    *field = std::string(text);
    return {};
  };
  return option;
}

}  // namespace

void EngineFlags::declare(OptionTable& table) {
  table.section("Device and numerics");
  table.add(device_option(&device));
  table.add(whole("--threads", "N", &threads, 0, 4096, "CPU threads; 0 takes every core")
                .with_default("0"));
  table.add(flag("--l1", &l1, "the same numbers as mlx-lm, bit for bit, instead of our kernels"));
  table.add(
      refused("--l3", "was removed; --l1 keeps mlx-lm's numbers, the default is the fast tier"));
}

engine::EngineOptions EngineFlags::options() const {
  engine::EngineOptions out;
  out.tier = l1 ? engine::Tier::l1 : engine::Tier::fast;
  out.device = device;
  out.threads = threads;
  return out;
}

}  // namespace hearth::cli
