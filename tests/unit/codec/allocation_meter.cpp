#include "tests/unit/codec/allocation_meter.h"

#include <cstdlib>
#include <new>

namespace {
thread_local std::size_t requested = 0;
}  // namespace

void* operator new(std::size_t size) {
  requested += size;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace godwit {

AllocationMeter::AllocationMeter() : start_(requested) {}
std::size_t AllocationMeter::requested_bytes() const { return requested - start_; }

}  // namespace godwit
