#include "engine/device.h"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <vector>

namespace hearth::engine {

namespace mx = mlx::core;

namespace {

std::mutex& mutex() {  // guards free_streams()
  static std::mutex mutex;
  return mutex;
}

std::vector<mx::Stream>& free_streams() {
  static std::vector<mx::Stream> streams;
  return streams;
}

mx::Stream take_stream() {
  const std::scoped_lock lock(mutex());
  if (free_streams().empty()) return mx::new_thread_unsafe_stream(mx::Device::cpu);
  const mx::Stream stream = free_streams().back();
  free_streams().pop_back();
  return stream;
}

}  // namespace

Result<mx::Device> choose_device(const std::string& name) {
  const bool gpu = mx::is_available(mx::Device::gpu);
  if (name == "cpu") return mx::Device(mx::Device::cpu);
  if (name == "auto") return mx::Device(gpu ? mx::Device::gpu : mx::Device::cpu);
  int index = 0;
  if (const auto colon = name.find(':'); colon != name.npos) {
    index = std::atoi(name.c_str() + colon + 1);
  }
  const auto kind = name.substr(0, name.find(':'));
  if (kind != "gpu" && kind != "cuda" && kind != "metal") {
    return fail(
        ErrorCode::unsupported,
        fmt::format("device \"{}\" is unknown, expected auto, cpu, gpu, cuda[:n] or metal", name),
        "device");
  }
  const int count = gpu ? mx::device_count(mx::Device::gpu) : 0;
  if (index >= count) {
    return fail(
        ErrorCode::unsupported,
        fmt::format("device \"{}\" was asked for, but this build finds {} GPUs", name, count),
        "device");
  }
  return mx::Device(mx::Device::gpu, index);
}

CpuStream::CpuStream() : stream_(take_stream()) { mx::set_default_stream(stream_); }

CpuStream::~CpuStream() {
  const std::scoped_lock lock(mutex());
  free_streams().push_back(stream_);
}

}  // namespace hearth::engine
