// Counts the bytes this program asks operator new for, so that a test can bound what a decoder
// allocates.
#pragma once

#include <cstddef>

namespace godwit {

class AllocationMeter {
 public:
  AllocationMeter();
  // Bytes requested on this thread since construction, freed or not.
  std::size_t requested_bytes() const;

 private:
  std::size_t start_;
};

}  // namespace godwit
