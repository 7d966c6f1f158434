// Which BLAS libtorch runs on, and how many threads the two use.
#pragma once

#include <string>

namespace godwit::trainer {

// Sets the threads of libtorch and of OpenBLAS. Returns a warning that names the fix when matrix
// products do not run on OpenBLAS with POSIX threads (reference BLAS is some thirty times slower),
// else "".
std::string start_linear_algebra(int threads);

}  // namespace godwit::trainer
