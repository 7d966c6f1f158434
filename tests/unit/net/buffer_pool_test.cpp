#include "shared/net/buffer_pool.h"

#include <gtest/gtest.h>

#include <thread>

namespace godwit::net {
namespace {

constexpr std::size_t kLarge = 1u << 20;

// A buffer of `bytes` bytes that has been shared and let go; where it lies.
const std::byte* use_once(BufferPool& pool, std::size_t bytes) {
  Bytes buffer = pool.take(bytes);
  buffer.resize(bytes);
  return pool.share(std::move(buffer))->data();
}

TEST(BufferPoolTest, ABufferIsUsedAgainOnceItsLastHolderLetsGo) {
  BufferPool pool;
  Bytes buffer(kLarge);
  const std::byte* const place = buffer.data();
  SharedBytes held = pool.share(std::move(buffer));
  EXPECT_TRUE(pool.take(kLarge).empty()) << "it is still held";
  std::thread([&held] { held.reset(); }).join();
  const Bytes again = pool.take(kLarge - 100);
  EXPECT_EQ(again.data(), place);
  EXPECT_EQ(again.size(), kLarge - 100) << "a payload is its whole buffer";
}

TEST(BufferPoolTest, SmallPayloadsDoNotHoldLargeBuffers) {
  BufferPool pool;
  use_once(pool, kLarge);
  EXPECT_TRUE(pool.take(kLarge / 4).empty());
  EXPECT_TRUE(pool.take(10).empty());
  EXPECT_TRUE(pool.take(2 * kLarge).empty()) << "too small";
  EXPECT_FALSE(pool.take(kLarge).empty());
}

TEST(BufferPoolTest, KeepsAtMostItsLimit) {
  BufferPool pool;
  std::vector<SharedBytes> held;
  for (std::size_t i = 0; i < 2 * kPoolBytes / kLarge; ++i) held.push_back(pool.share(Bytes(kLarge)));
  held.clear();
  std::size_t kept = 0;
  while (!pool.take(kLarge).empty()) ++kept;
  EXPECT_EQ(kept, kPoolBytes / kLarge);
}

TEST(BufferPoolTest, BytesOutliveThePool) {
  SharedBytes held;
  {
    BufferPool pool;
    held = pool.share(Bytes(kLarge, std::byte{7}));
  }
  EXPECT_EQ(held->back(), std::byte{7});
}

}  // namespace
}  // namespace godwit::net
