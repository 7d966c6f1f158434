// Handles of the CUDA runtime: a stream and memory of the current device, move-only, freed with their
// owner. A device failure is a Result: kOverloaded when its memory is full, kUnavailable when there
// is none that works, kIo for everything else (then the process should end).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "shared/base/result.h"

namespace godwit::cuda {

// `doing` starts the message: "copy to device: out of memory".
Result<void> checked(cudaError_t status, const char* doing);

// The name of the current device. Error: kUnavailable, "no CUDA device: <what the runtime says>".
Result<std::string> device_name();

// Work on one stream runs in order; kernels and copies return before it has run.
class Stream {
 public:
  static Result<Stream> create();
  // Until everything so far has run. A failure of earlier work appears here at the latest.
  Result<void> wait() const;
  cudaStream_t native() const { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  };
  explicit Stream(cudaStream_t handle) : handle_(handle) {}
  std::unique_ptr<std::remove_pointer_t<cudaStream_t>, Destroy> handle_;
};

// `size()` values of T in device memory, uninitialised, aligned to 256 bytes.
template <class T>
class DeviceBuffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static Result<DeviceBuffer> allocate(std::size_t size) {
    void* memory = nullptr;
    const Result<void> allocated = checked(cudaMalloc(&memory, size * sizeof(T)), "device memory");
    if (!allocated) return allocated.error();
    return DeviceBuffer(static_cast<T*>(memory), size);
  }
  T* data() { return memory_.get(); }
  const T* data() const { return memory_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(T* memory) const { cudaFree(memory); }
  };
  DeviceBuffer(T* memory, std::size_t size) : memory_(memory), size_(size) {}
  std::unique_ptr<T, Free> memory_;
  std::size_t size_;
};

// Copies between host memory (the span, alive until stream.wait()) and device memory.
template <class T>
Result<void> copy_to_device(T* to, std::span<const T> from, const Stream& stream) {
  return checked(cudaMemcpyAsync(to, from.data(), from.size_bytes(), cudaMemcpyHostToDevice, stream.native()),
                 "copy to device");
}
template <class T>
Result<void> copy_to_host(std::span<T> to, const T* from, const Stream& stream) {
  return checked(cudaMemcpyAsync(to.data(), from, to.size_bytes(), cudaMemcpyDeviceToHost, stream.native()),
                 "copy to host");
}

}  // namespace godwit::cuda
