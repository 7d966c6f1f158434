#include "shared/net/buffer_pool.h"

#include <algorithm>
#include <mutex>

namespace godwit::net {

struct BufferPool::Unused {
  std::mutex mutex;  // guards the two below
  std::vector<Bytes> buffers;
  std::size_t bytes = 0;

  void put(Bytes buffer) {
    const std::lock_guard lock(mutex);
    if (buffer.capacity() > kPoolBytes - bytes) return;
    bytes += buffer.capacity();
    buffers.push_back(std::move(buffer));
  }
};

BufferPool::BufferPool() : unused_(std::make_shared<Unused>()) {}

Bytes BufferPool::take(std::size_t bytes) {
  if (bytes < kPooledBytes) return {};
  const std::lock_guard lock(unused_->mutex);
  auto& buffers = unused_->buffers;
  const auto fits = [bytes](const Bytes& buffer) {
    return buffer.size() >= bytes && buffer.capacity() <= 2 * bytes;
  };
  const auto found = std::find_if(buffers.rbegin(), buffers.rend(), fits);  // the one still in the cache
  if (found == buffers.rend()) return {};
  Bytes buffer = std::move(*found);
  buffers.erase(std::next(found).base());
  unused_->bytes -= buffer.capacity();
  buffer.resize(bytes);
  return buffer;
}

SharedBytes BufferPool::share(Bytes bytes) {
  if (bytes.size() < kPooledBytes) return godwit::share(std::move(bytes));
  const auto give_back = [home = std::weak_ptr<Unused>(unused_)](Bytes* buffer) {
    if (const auto unused = home.lock()) unused->put(std::move(*buffer));
    delete buffer;
  };
  return SharedBytes(new Bytes(std::move(bytes)), give_back);
}

}  // namespace godwit::net
