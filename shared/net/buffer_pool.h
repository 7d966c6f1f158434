// BufferPool: payload buffers of one connection, used again once the last holder of their bytes lets go. A
// used buffer needs no zeroing and no page faults, which cost more than decrypting into it. Buffers may
// outlive the pool, and come back from any thread. Internal to shared/net.
#pragma once

#include <memory>

#include "shared/base/bytes.h"

namespace godwit::net {

// Bytes of unused buffers that one connection keeps: a few chunks.
inline constexpr std::size_t kPoolBytes = 16u << 20;
// Shorter payloads get a buffer of their own.
inline constexpr std::size_t kPooledBytes = 64u << 10;

class BufferPool {
 public:
  BufferPool();
  // An empty buffer, or a used one of `bytes` bytes whose content is old. It has room for at most twice as
  // much, so that small payloads do not hold on to large buffers.
  Bytes take(std::size_t bytes);
  SharedBytes share(Bytes bytes);

 private:
  struct Unused;
  std::shared_ptr<Unused> unused_;
};

}  // namespace godwit::net
