// gpu_bench: bytes a second of each GPU kernel, as a ratio of the copy bandwidth of the same device in
// the same minute. Prints one JSON object; exit code 77, and the reason, where there is no device.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shared/base/random.h"
#include "shared/codec/int8_codec_cuda.h"
#include "shared/tensor/kernels_cuda.h"

namespace godwit {
namespace {

constexpr int kSkipped = 77;
constexpr int kRuns = 21;
constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr std::size_t kValues = 1024 * kBlock;  // 1 GiB an array, far larger than any cache
constexpr std::size_t kPattern = 4 * kBlock;    // values that are repeated to fill an array

[[noreturn]] void fail(const Error& error) {
  std::fprintf(stderr, "gpu_bench: %s\n", error.to_string().c_str());
  std::exit(1);
}
void must(const Result<void>& result) {
  if (!result) fail(result.error());
}
template <class T>
T must(Result<T> result) {
  if (!result) fail(result.error());
  return *std::move(result);
}

cuda::DeviceBuffer<float> noise(std::uint64_t seed, const cuda::Stream& stream) {
  Random random(seed);
  std::vector<float> pattern(kPattern);
  for (float& value : pattern) value = static_cast<float>(random.normal());
  auto array = must(cuda::DeviceBuffer<float>::allocate(kValues));
  for (std::size_t at = 0; at < kValues; at += kPattern)
    must(cuda::copy_to_device(array.data() + at, std::span<const float>(pattern), stream));
  must(stream.wait());
  return array;
}

// Median seconds of one run.
double seconds_of(const std::function<Result<void>()>& run, const cuda::Stream& stream) {
  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
  must(cuda::checked(cudaEventCreate(&start), "create an event"));
  must(cuda::checked(cudaEventCreate(&stop), "create an event"));
  std::vector<float> milliseconds(kRuns);
  must(run());  // warm
  for (float& each : milliseconds) {
    must(cuda::checked(cudaEventRecord(start, stream.native()), "record an event"));
    must(run());
    must(cuda::checked(cudaEventRecord(stop, stream.native()), "record an event"));
    must(stream.wait());
    must(cuda::checked(cudaEventElapsedTime(&each, start, stop), "read an event"));
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
  std::nth_element(milliseconds.begin(), milliseconds.begin() + kRuns / 2, milliseconds.end());
  return milliseconds[kRuns / 2] / 1e3;
}

struct Kernel {
  const char* name;
  std::size_t bytes;  // read and written by one run
  std::function<Result<void>()> run;
};

std::vector<Kernel> kernels_on(float* a, float* b, float* c, float* d, std::byte* encoded,
                               std::uint64_t* sums, const cuda::Stream& stream) {
  constexpr std::size_t kArray = kValues * sizeof(float);
  const std::size_t int8 = cuda::int8_bytes(kValues, kBlock);
  auto* malformed = reinterpret_cast<std::uint32_t*>(sums);
  return {
      {"add", 3 * kArray, [=, &stream] { return cuda::add(a, b, kValues, stream); }},
      {"add_scaled", 3 * kArray, [=, &stream] { return cuda::add_scaled(a, b, kValues, 0.5F, stream); }},
      {"subtract", 3 * kArray, [=, &stream] { return cuda::subtract(a, b, c, kValues, stream); }},
      {"scale", 2 * kArray, [=, &stream] { return cuda::scale(a, kValues, 1.0F, stream); }},
      {"sgd_step", 3 * kArray,
       [=, &stream] { return cuda::sgd_step(a, b, c, kValues, 0.5F, 0.7F, stream); }},
      {"nesterov_step", 5 * kArray,
       [=, &stream] { return cuda::nesterov_step(a, d, b, c, kValues, 0.5F, 0.7F, 0.9F, stream); }},
      {"block_hashes", kArray, [=, &stream] { return cuda::block_hashes(sums, b, kValues, kBlock, stream); }},
      {"block_hash_changes", 2 * kArray,
       [=, &stream] { return cuda::block_hash_changes(sums, b, c, kValues, kBlock, stream); }},
      {"count_not_finite", kArray,
       [=, &stream] { return cuda::count_not_finite(sums, b, kValues, kBlock, stream); }},
      {"encode_int8", kArray + int8,
       [=, &stream] { return cuda::encode_int8(encoded, b, kValues, kBlock, stream); }},
      {"decode_int8", kArray + int8,
       [=, &stream] { return cuda::decode_int8(a, malformed, encoded, int8, kValues, kBlock, stream); }},
  };
}

int bench() {
  const Result<std::string> device = cuda::device_name();
  if (!device) {
    std::fprintf(stderr, "%s\n", device.error().context.c_str());
    return kSkipped;
  }
  const auto stream = must(cuda::Stream::create());
  auto a = noise(1, stream);
  auto b = noise(2, stream);
  auto c = noise(3, stream);
  auto d = noise(4, stream);
  auto encoded = must(cuda::DeviceBuffer<std::byte>::allocate(cuda::int8_bytes(kValues, kBlock)));
  auto sums = must(cuda::DeviceBuffer<std::uint64_t>::allocate(kValues / kBlock));

  constexpr std::size_t kArray = kValues * sizeof(float);
  const auto copy = [&] {
    return cuda::checked(
        cudaMemcpyAsync(a.data(), b.data(), kArray, cudaMemcpyDeviceToDevice, stream.native()), "copy");
  };
  const double copied = 2 * kArray / seconds_of(copy, stream) / 1e9;
  std::printf("{\"device\": \"%s\", \"values\": %zu, \"copy_gb_per_s\": %.1f, \"kernels\": {",
              device->c_str(), kValues, copied);
  const char* separator = "\n";
  for (const Kernel& kernel :
       kernels_on(a.data(), b.data(), c.data(), d.data(), encoded.data(), sums.data(), stream)) {
    const double speed = static_cast<double>(kernel.bytes) / seconds_of(kernel.run, stream) / 1e9;
    std::printf("%s  \"%s\": {\"gb_per_s\": %.1f, \"of_copy\": %.3f}", separator, kernel.name, speed,
                speed / copied);
    separator = ",\n";
  }
  std::printf("\n}}\n");
  return 0;
}

}  // namespace
}  // namespace godwit

int main() { return godwit::bench(); }
