// The kernels' way onto the device: through MLX's command encoder, so that they join its graphs and
// keep its order. MLX's own fast::cuda_kernel would compile anew at each start of the program.
#ifdef HEARTH_CUDA
#include <fmt/format.h>

#include <map>
#include <mutex>
#include <stdexcept>

#include "mlx/backend/cuda/device.h"
#include "tensor/kernels/cuda/compile.h"
#include "tensor/kernels/cuda/launch.h"

namespace hearth::kernels::cuda {
namespace mx = mlx::core;
namespace {

void check(CUresult result, std::string_view what) {
  if (result == CUDA_SUCCESS) return;
  const char* words = nullptr;
  cuGetErrorString(result, &words);
  throw std::runtime_error(fmt::format("{}: {}", what, words ? words : "unknown CUDA error"));
}

/// Device memory of finished nodes, by size, for the next ones. Work is in order of one stream, so
/// memory may be used again while its last reader still runs.
class Pool {
 public:
  /// @param size  rounded up by the caller to a size class
  mx::cu::CudaBuffer* take(std::size_t size, CUstream stream) {
    {
      const std::scoped_lock lock(mutex_);
      auto& free = free_[size];
      if (!free.empty()) {
        auto* buffer = free.back();
        free.pop_back();
        kept_ -= size;
        return buffer;
      }
    }
    CUdeviceptr data = 0;
    check(cuMemAllocAsync(&data, size, stream), fmt::format("{} bytes on the device", size));
    int device = 0;
    check(cuCtxGetDevice(&device), "the current device");
    return new mx::cu::CudaBuffer{reinterpret_cast<void*>(data), size, device};
  }

  void give_back(mx::cu::CudaBuffer* buffer) {
    if (const std::scoped_lock lock(mutex_);
        buffer->device >= 0 && kept_ + buffer->size <= most_kept) {
      kept_ += buffer->size;
      free_[buffer->size].push_back(buffer);
      return;
    }
    // Read by the host, MLX has moved it to memory that both see; or there is enough.
    cuMemFree(reinterpret_cast<CUdeviceptr>(buffer->data));
    delete buffer;
  }

 private:
  static constexpr std::size_t most_kept = std::size_t{2} << 30;
  std::mutex mutex_;  // guards what follows
  std::size_t kept_ = 0;
  std::map<std::size_t, std::vector<mx::cu::CudaBuffer*>> free_;
};

Pool& pool() {
  static auto* pool = new Pool;  // never destroyed: arrays of static life may outlive it
  return *pool;
}

std::size_t size_class(std::size_t bytes) {
  std::size_t size = 256;
  while (size < bytes) size *= 2;
  return bytes > (std::size_t{1} << 20) ? (bytes + 0xfffff) / 0x100000 * 0x100000 : size;
}

mx::allocator::Buffer take(std::size_t bytes, mx::Stream stream) {
  return mx::allocator::Buffer(
      pool().take(size_class(bytes), mx::cu::get_command_encoder(stream).stream()));
}

void give_back(mx::allocator::Buffer buffer) {
  pool().give_back(static_cast<mx::cu::CudaBuffer*>(buffer.ptr()));
}

/// Compiled units, loaded once.
CUfunction find(const std::string_view kernel, const mx::cu::Device& device,
                unsigned shared_bytes) {
  static std::mutex mutex;  // guards the map
  static std::map<std::pair<std::string, int>, CUfunction, std::less<>> known;
  const std::scoped_lock lock(mutex);
  const auto key = std::pair(std::string(kernel), device.cuda_device());
  if (const auto it = known.find(key); it != known.end()) return it->second;
  const auto machine_code =
      compiled(kernel, device.compute_capability_major(), device.compute_capability_minor());
  CUmodule module = nullptr;
  check(cuModuleLoadData(&module, machine_code.data()), fmt::format("kernel {}", kernel));
  CUfunction function = nullptr;
  check(cuModuleGetFunction(&function, module, key.first.c_str()),
        fmt::format("kernel {}", kernel));
  if (shared_bytes > 0) {
    check(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             static_cast<int>(shared_bytes)),
          fmt::format("kernel {}", kernel));
  }
  known.emplace(key, function);
  return function;
}

}  // namespace

bool available() {
  static const bool found = mx::is_available(mx::Device::gpu) &&
                            mx::cu::device(0).compute_capability_major() >= 8 && compiler_there();
  return found;
}

Launcher::Launcher(mx::Stream stream) : stream_(stream) {}

Array device_memory(const mx::Shape& shape, mx::Dtype type) {
  std::size_t bytes = mx::size_of(type);
  for (const int n : shape) bytes *= n;
  const auto stream = mx::default_stream(mx::default_device());
  return Array(mx::allocator::Data(take(bytes, stream), give_back), shape, type);
}

void Launcher::allocate(Array& output) {
  output.set_data(mx::allocator::Data(take(output.nbytes(), stream_), give_back));
}

Array Launcher::scratch(std::size_t bytes) {
  Array memory({static_cast<int>((bytes + 3) / 4)}, mx::uint32, nullptr, {});
  allocate(memory);
  mx::cu::get_command_encoder(stream_).add_temporary(memory);
  return memory;
}

void* Launcher::address(const Array& x) {
  const auto* buffer = static_cast<const mx::cu::CudaBuffer*>(x.buffer().ptr());
  return static_cast<char*>(buffer->data) + x.offset();
}

void Launcher::run(std::string_view kernel, Grid grid, unsigned threads, const void* arguments,
                   unsigned shared_bytes) {
  auto& encoder = mx::cu::get_command_encoder(stream_);
  for (const auto& x : reads_) encoder.set_input_array(x);
  for (const auto& x : writes_) encoder.set_output_array(x);
  reads_.clear();
  writes_.clear();
  void* parameters[] = {const_cast<void*>(arguments)};
  encoder.add_kernel_node_raw(find(kernel, encoder.device(), shared_bytes),
                              dim3(grid.x, grid.y, grid.z), dim3(threads), {}, shared_bytes,
                              parameters);
}

}  // namespace hearth::kernels::cuda
#endif
