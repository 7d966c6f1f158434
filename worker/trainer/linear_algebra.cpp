#include "worker/trainer/linear_algebra.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <climits>
#include <cstdlib>

namespace godwit::trainer {
namespace {

// The file that matrix products come from, symbolic links resolved: Debian's alternatives switch
// those.
std::string blas_file() {
  Dl_info where{};
  void* product = dlsym(RTLD_DEFAULT, "sgemm_");
  if (product == nullptr || dladdr(product, &where) == 0) return "";
  char resolved[PATH_MAX];
  return realpath(where.dli_fname, resolved) != nullptr ? resolved : where.dli_fname;
}

}  // namespace

std::string start_linear_algebra(int threads) {
  at::set_num_threads(threads);
  using SetThreads = void (*)(int);
  if (auto set_threads =
          reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) {
    set_threads(threads);
  }
  const std::string file = blas_file();
  if (file.find("openblas-pthread") != std::string::npos) return "";
  return "libtorch multiplies matrices with " + (file.empty() ? "an unknown library" : file) +
         ", which is slow here: apt-get install libopenblas0-pthread";
}

}  // namespace godwit::trainer
