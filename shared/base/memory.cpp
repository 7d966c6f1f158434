#include "shared/base/memory.h"

#include <malloc.h>

namespace godwit {

void keep_freed_memory() {
#ifdef __GLIBC__
  // One heap for all threads: what one frees, another takes. Heaps of their own would each have to grow.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
}

}  // namespace godwit
