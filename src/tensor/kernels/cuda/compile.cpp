#include "tensor/kernels/cuda/compile.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "base/file.h"
#include "base/folders.h"
#include "base/log.h"
#include "tensor/kernels/cuda/source.h"

namespace hearth::kernels::cuda {
namespace {

/// The part of nvrtc.h that is used here. Source: NVIDIA's NVRTC documentation.
struct Nvrtc {
  using Program = void*;
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*code_size)(Program, std::size_t*) = nullptr;
  int (*code)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
  bool there = false;

  Nvrtc() {
    void* library = nullptr;
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12"}) {
      if ((library = ::dlopen(name, RTLD_NOW))) break;
    }
    if (!library) return;
    there = take(library, "nvrtcVersion", version) && take(library, "nvrtcCreateProgram", create) &&
            take(library, "nvrtcCompileProgram", compile) &&
            take(library, "nvrtcGetProgramLogSize", log_size) &&
            take(library, "nvrtcGetProgramLog", log) &&
            take(library, "nvrtcGetCUBINSize", code_size) && take(library, "nvrtcGetCUBIN", code) &&
            take(library, "nvrtcDestroyProgram", destroy);
  }

  template <class F>
  static bool take(void* library, const char* name, F& function) {
    function = reinterpret_cast<F>(::dlsym(library, name));
    return function != nullptr;
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc functions;
  return functions;
}

void check(int result, std::string_view what) {
  if (result != 0) throw std::runtime_error(fmt::format("{}: NVRTC error {}", what, result));
}

std::string compile(const std::string& source, std::string_view unit, const std::string& target) {
  const auto& c = nvrtc();
  Nvrtc::Program program = nullptr;
  check(c.create(&program, source.c_str(), std::string(unit).c_str(), 0, nullptr, nullptr), unit);
  const std::vector<const char*> options = {target.c_str(), "--std=c++17"};
  const int failed = c.compile(program, static_cast<int>(options.size()), options.data());
  std::size_t size = 0;
  std::string out;
  if (failed != 0) {
    c.log_size(program, &size);
    out.resize(size);
    c.log(program, out.data());
    c.destroy(&program);
    throw std::runtime_error(fmt::format("CUDA kernels \"{}\" do not compile: {}", unit, out));
  }
  check(c.code_size(program, &size), unit);
  out.resize(size);
  check(c.code(program, out.data()), unit);
  c.destroy(&program);
  return out;
}

/// FNV-1a, 64 bits: tells sources apart, and is the same at every start.
std::uint64_t fingerprint(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

}  // namespace

bool compiler_there() { return nvrtc().there; }

std::string compiled(std::string_view kernel, int major, int minor) {
  const auto unit = unit_of(kernel);
  const auto source = source_of(unit);
  const auto target = fmt::format("--gpu-architecture=sm_{}{}", major, minor);
  int compiler_major = 0, compiler_minor = 0;
  check(nvrtc().version(&compiler_major, &compiler_minor), "the compiler's version");
  const auto all = fmt::format("{}{} {}.{}", source, target, compiler_major, compiler_minor);
  const auto folder = find_folders(Environment::of_process()).cache / "kernels";
  const auto path =
      folder / fmt::format("{}-sm{}{}-{:016x}.cubin", unit, major, minor, fingerprint(all));
  if (auto kept = read_file(path)) return *std::move(kept);
  log::info("compiling the CUDA kernels \"{}\"", unit);
  auto code = compile(source, unit, target);
  const auto made = make_private_folder(folder);
  if (const auto written = made ? write_file(path, code) : made; !written) {
    log::warn("compiled kernels are not kept: {}", written.error().message);
  }
  return code;
}

}  // namespace hearth::kernels::cuda
