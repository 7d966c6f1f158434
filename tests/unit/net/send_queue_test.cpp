#include "shared/net/send_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace godwit::net {
namespace {

Frame make_frame(std::size_t control_bytes, const std::vector<std::size_t>& slices,
                 std::uint32_t stream) {
  Frame frame;
  frame.kind = static_cast<MessageKind>(16);
  frame.stream = stream;
  frame.control = Bytes(control_bytes, static_cast<std::byte>(stream));
  for (const std::size_t bytes : slices) {
    frame.payload.push_back(slice(share(Bytes(bytes, static_cast<std::byte>(stream + 1)))));
  }
  return frame;
}

Bytes flatten(const Frame& frame) {
  const EncodedHeader header = encode_header(frame.header());
  Bytes bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), frame.control.begin(), frame.control.end());
  for (const Slice& part : frame.payload) {
    bytes.insert(bytes.end(), part.bytes.begin(), part.bytes.end());
  }
  return bytes;
}

RC_GTEST_PROP(SendQueue, PiecesAreTheFramesInOrderAndEachIsReportedOnce, ()) {
  const auto size = rc::gen::element<std::size_t>(0, 1, 100, kRecordBytes - 24, kRecordBytes,
                                                  kSendInPlaceBytes - 1, kSendInPlaceBytes,
                                                  kMaxPieceBytes + 1, 700'000);
  SendQueue queue(64u << 20);
  Bytes expected, got;
  int reported = 0;
  const auto count = *rc::gen::inRange(1, 8);
  for (int i = 0; i < count; ++i) {
    const auto slices = *rc::gen::resize(4, rc::gen::container<std::vector<std::size_t>>(size));
    Frame frame = make_frame(*size, slices, static_cast<std::uint32_t>(i));
    const Bytes flat = flatten(frame);
    expected.insert(expected.end(), flat.begin(), flat.end());
    RC_ASSERT(queue.push(std::move(frame), [&reported, i] { RC_ASSERT(reported++ == i); }));
  }
  const auto max_bytes = *rc::gen::element<std::size_t>(1000, 64u << 10, kMaxPieceBytes);
  std::uint64_t frames_ended = 0;
  while (const std::optional<Piece> piece = queue.next(max_bytes)) {
    RC_ASSERT(!piece->bytes.empty());
    RC_ASSERT(piece->bytes.size() <= max_bytes);
    got.insert(got.end(), piece->bytes.begin(), piece->bytes.end());
    for (const OnWritten& on_written : piece->completed) on_written();
    frames_ended += piece->frames_ended;
    queue.written(*piece);
  }
  RC_ASSERT(got == expected);
  RC_ASSERT(reported == count);
  RC_ASSERT(frames_ended == static_cast<std::uint64_t>(count));
  RC_ASSERT(queue.bytes() == 0u);
}

TEST(SendQueue, LongSlicesAreNotCopied) {
  SendQueue queue(64u << 20);
  const SharedBytes entry = share(Bytes(1u << 20));
  Frame frame;
  frame.payload.push_back(slice(entry));
  ASSERT_TRUE(queue.push(std::move(frame), nullptr));
  std::size_t copied = 0;
  while (const std::optional<Piece> piece = queue.next()) {
    if (piece->owner) {
      EXPECT_EQ(piece->owner, entry);
      EXPECT_GE(piece->bytes.data(), entry->data());
    }
    copied += piece->gathered.size();
  }
  EXPECT_LE(copied, kRecordBytes + kSendInPlaceBytes);
}

TEST(SendQueue, FullIsOverloadedUntilWritten) {
  SendQueue queue(10'000);
  ASSERT_TRUE(queue.push(make_frame(50'000, {}, 0), nullptr)) << "an empty queue takes any frame";
  EXPECT_EQ(queue.push(make_frame(1, {}, 1), nullptr).error().code, Errc::kOverloaded);
  const std::optional<Piece> piece = queue.next();
  EXPECT_EQ(queue.push(make_frame(1, {}, 1), nullptr).error().code, Errc::kOverloaded)
      << "taken is not written";
  queue.written(*piece);
  EXPECT_TRUE(queue.push(make_frame(1, {}, 1), nullptr));
  EXPECT_TRUE(queue.push(make_frame(9'000, {}, 2), nullptr));
  EXPECT_EQ(queue.push(make_frame(9'000, {}, 3), nullptr).error().code, Errc::kOverloaded);
}

TEST(SendQueue, UrgentGoesAheadOfAllButTheFrameInProgress) {
  SendQueue queue(64u << 20);
  const Frame first = make_frame(0, {500'000}, 1), second = make_frame(10, {}, 2);
  const Frame urgent = make_frame(8, {}, 3);
  ASSERT_TRUE(queue.push(first, nullptr));
  ASSERT_TRUE(queue.push(second, nullptr));
  Bytes got;
  const auto take = [&queue, &got] {
    const std::optional<Piece> piece = queue.next();
    got.insert(got.end(), piece->bytes.begin(), piece->bytes.end());
  };
  take();
  ASSERT_TRUE(queue.push(urgent, nullptr, Urgency::kAheadOfAll));
  while (!queue.empty()) take();
  Bytes expected = flatten(first);
  for (const Frame& frame : {urgent, second}) {
    const Bytes flat = flatten(frame);
    expected.insert(expected.end(), flat.begin(), flat.end());
  }
  EXPECT_EQ(got, expected);
}

TEST(SendQueue, DroppingKeepsTheFrameInProgressWhole) {
  SendQueue queue(64u << 20);
  const Frame first = make_frame(0, {500'000}, 1);
  ASSERT_TRUE(queue.push(first, nullptr));
  ASSERT_TRUE(queue.push(make_frame(0, {500'000}, 2), nullptr));
  std::size_t got = 0;
  const auto take = [&queue, &got] {
    const std::optional<Piece> piece = queue.next();
    got += piece->bytes.size();
    queue.written(*piece);
  };
  take();
  queue.drop_waiting();
  while (!queue.empty()) take();
  EXPECT_EQ(got, first.wire_bytes());
  EXPECT_EQ(queue.bytes(), 0u);
}

}  // namespace
}  // namespace godwit::net
