#include "shared/tensor/cuda_device.h"

namespace godwit::cuda {
namespace {

Errc code_of(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return Errc::kOverloaded;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoKernelImageForDevice:
      return Errc::kUnavailable;
    default:
      return Errc::kIo;
  }
}

Error no_device(const char* why) {
  return Error{Errc::kUnavailable, std::string("no CUDA device: ") + why};
}

}  // namespace

Result<void> checked(cudaError_t status, const char* doing) {
  if (status == cudaSuccess) return {};
  cudaGetLastError();  // the runtime remembers it: the next launch would report it once more
  return Error{code_of(status), std::string(doing) + ": " + cudaGetErrorString(status)};
}

Result<std::string> device_name() {
  int devices = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess)
    return no_device(cudaGetErrorString(status));
  if (devices == 0) return no_device(cudaGetErrorString(cudaErrorNoDevice));
  int current = 0;
  cudaDeviceProp properties{};
  cudaError_t status = cudaGetDevice(&current);
  if (status == cudaSuccess) status = cudaGetDeviceProperties(&properties, current);
  if (status != cudaSuccess) return no_device(cudaGetErrorString(status));
  return std::string(properties.name);
}

Result<Stream> Stream::create() {
  cudaStream_t handle = nullptr;
  const Result<void> created =
      checked(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), "create a stream");
  if (!created) return created.error();
  return Stream(handle);
}

Result<void> Stream::wait() const { return checked(cudaStreamSynchronize(native()), "wait for a stream"); }

}  // namespace godwit::cuda
