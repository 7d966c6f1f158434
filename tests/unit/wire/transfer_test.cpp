#include "shared/wire/transfer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "shared/base/byte_stream.h"
#include "tests/unit/wire/any_message.h"

namespace godwit::wire {
namespace {

// What the network hands over for a frame: a control part and a buffer of its own.
struct InFrame {
  MessageKind kind;
  Bytes control;
  SharedBytes payload;
};

InFrame arrive(const OutFrame& frame) {
  if (!frame.owner) return {frame.kind, frame.control, nullptr};
  return {frame.kind, frame.control,
          share(copy(view(frame.owner).subspan(frame.offset, frame.bytes)))};
}

std::vector<InFrame> arrive(const std::vector<OutFrame>& frames) {
  std::vector<InFrame> out;
  for (const OutFrame& frame : frames) out.push_back(arrive(frame));
  return out;
}

WireMessage random_message() {
  WireMessage message;
  message.kind = MessageKind::kPush;
  message.control = *generate::payload();
  message.payloads = generate::some(6, [] { return generate::payload(60); });
  return message;
}

std::uint32_t random_chunk_bytes() { return *rc::gen::inRange<std::uint32_t>(1, 30); }

bool equal(const WireMessage& one, const WireMessage& two) {
  return one.kind == two.kind && one.control == two.control &&
         generate::same(one.payloads, two.payloads);
}

// All but the first frame in a random order.
void shuffle(std::vector<InFrame>& frames) {
  for (std::size_t i = frames.size(); i > 2; --i)
    std::swap(frames[i - 1], frames[1 + generate::size(i - 1)]);
}

WireMessage message_of(std::vector<SharedBytes> payloads) {
  return {MessageKind::kPush, Bytes(8), std::move(payloads)};
}

RC_GTEST_PROP(Transfers, AnyOrderOfChunksGivesTheSameMessage, ()) {
  const WireMessage message = random_message();
  std::vector<InFrame> frames = arrive(split(message, 5, random_chunk_bytes()));
  shuffle(frames);
  Assembler assembler({});
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto accepted = assembler.accept(frames[i].kind, frames[i].control, frames[i].payload);
    RC_ASSERT(accepted.has_value());
    RC_ASSERT(accepted->has_value() == (i + 1 == frames.size()));
    if (*accepted) RC_ASSERT(equal(**accepted, message));
  }
  RC_ASSERT(assembler.open_transfers() == 0U);
  RC_ASSERT(assembler.open_bytes() == 0U);
  RC_ASSERT(assembler.held_bytes() == 0U);
}

RC_GTEST_PROP(Transfers, SeveralMayBeOpenAndInterleaved, ()) {
  std::vector<WireMessage> messages;
  std::vector<std::vector<InFrame>> queues;
  for (std::uint64_t transfer = 0; transfer < 3; ++transfer) {
    messages.push_back(random_message());
    queues.push_back(arrive(split(messages.back(), transfer, random_chunk_bytes())));
    std::reverse(queues.back().begin(), queues.back().end());  // taken from the back
  }
  Assembler assembler({});
  std::size_t completed = 0;
  while (true) {
    std::vector<std::size_t> waiting;
    for (std::size_t i = 0; i < queues.size(); ++i) {
      if (!queues[i].empty()) waiting.push_back(i);
    }
    if (waiting.empty()) break;
    const std::size_t at = waiting[generate::size(waiting.size())];
    const InFrame frame = std::move(queues[at].back());
    queues[at].pop_back();
    const auto accepted = assembler.accept(frame.kind, frame.control, frame.payload);
    RC_ASSERT(accepted.has_value());
    if (!*accepted) continue;
    RC_ASSERT(equal(**accepted, messages[at]));
    ++completed;
  }
  RC_ASSERT(completed == messages.size());
  RC_ASSERT(assembler.held_bytes() == 0U);
}

RC_GTEST_PROP(Transfers, ARepeatedFrameBreaksTheStream, ()) {
  WireMessage message = random_message();
  message.payloads.push_back(share(Bytes(1)));
  std::vector<InFrame> frames = arrive(split(message, 5, random_chunk_bytes()));
  shuffle(frames);
  const std::size_t repeated = generate::size(frames.size());
  frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(repeated) + 1, frames[repeated]);
  Assembler assembler({});
  bool refused = false;
  for (const InFrame& frame : frames) {
    const auto accepted = assembler.accept(frame.kind, frame.control, frame.payload);
    if (!accepted) refused = true;
    if (!accepted) RC_ASSERT(accepted.error().code == Errc::kMalformed);
    if (!accepted) break;
    if (*accepted) RC_ASSERT(equal(**accepted, message));  // never with a hole
  }
  RC_ASSERT(refused);
}

RC_GTEST_PROP(Transfers, DamagedFramesNeverCrashNorHoldMoreThanAnnounced, ()) {
  std::vector<InFrame> frames = arrive(split(random_message(), 5, random_chunk_bytes()));
  const std::size_t victim = generate::size(frames.size());
  if (*rc::gen::arbitrary<bool>() && frames[victim].payload) {
    frames[victim].payload = share(generate::damaged(*frames[victim].payload));
  } else {
    frames[victim].control = generate::damaged(frames[victim].control);
  }
  AssemblerLimits limits;
  limits.max_message_bytes = limits.max_open_bytes = 4096;
  Assembler assembler(limits);
  for (const InFrame& frame : frames) {
    const auto accepted = assembler.accept(frame.kind, frame.control, frame.payload);
    RC_ASSERT(assembler.held_bytes() <= assembler.open_bytes());
    RC_ASSERT(assembler.open_bytes() <= limits.max_open_bytes);
    if (!accepted) break;
  }
}

RC_GTEST_PROP(Transfers, RandomChunksNeverCrash, (std::vector<std::uint64_t> noise)) {
  Assembler assembler({});
  const WireMessage message = message_of({share(Bytes(50)), share(Bytes(50))});
  const InFrame opening = arrive(split(message, 5, 10)).front();
  RC_ASSERT(assembler.accept(opening.kind, opening.control, nullptr).has_value());
  for (const std::uint64_t number : noise) {
    ByteWriter control;
    control.put(std::uint64_t{5});
    control.put(static_cast<std::uint32_t>(number % 3));
    control.put(static_cast<std::uint32_t>(number / 3 % 7));
    (void)assembler
        .accept(MessageKind::kChunk, control.take(), share(Bytes(number % 2 == 0 ? 10 : 11)))
        .has_value();
    RC_ASSERT(assembler.held_bytes() <= 100U);
  }
}

TEST(Transfers, PayloadsAreNeverCopiedOnTheWayOut) {
  const SharedBytes payload = share(Bytes(25));
  const auto frames = split(message_of({payload}), 1, 10);
  ASSERT_EQ(frames.size(), 4U);
  EXPECT_EQ(frames[0].owner, nullptr);
  for (std::size_t i = 1; i < frames.size(); ++i) EXPECT_EQ(frames[i].owner, payload);
  EXPECT_EQ(frames[3].offset, 20U);
  EXPECT_EQ(frames[3].bytes, 5U);
}

TEST(Transfers, APayloadThatCameAsOneChunkIsKeptAsItCame) {
  const auto frames = arrive(split(message_of({share(Bytes(10))}), 1, 10));
  Assembler assembler({});
  ASSERT_TRUE(assembler.accept(frames[0].kind, frames[0].control, nullptr));
  const auto accepted = assembler.accept(frames[1].kind, frames[1].control, frames[1].payload);
  EXPECT_EQ((*accepted)->payloads[0], frames[1].payload);
}

TEST(Transfers, AMessageWithoutPayloadBytesIsCompleteAtOnce) {
  for (const WireMessage& message : {message_of({}), message_of({share({}), share({})})}) {
    const auto frames = arrive(split(message, 1));
    ASSERT_EQ(frames.size(), 1U);
    Assembler assembler({});
    const auto accepted = assembler.accept(frames[0].kind, frames[0].control, nullptr);
    ASSERT_TRUE(accepted.has_value() && accepted->has_value());
    EXPECT_TRUE(equal(**accepted, message));
  }
}

Error open_error(const WireMessage& message, AssemblerLimits limits) {
  Assembler assembler(limits);
  for (std::uint64_t transfer = 0; transfer < 10; ++transfer) {
    const OutFrame opening = split(message, transfer).front();
    const auto accepted = assembler.accept(opening.kind, opening.control, nullptr);
    if (!accepted) return accepted.error();
  }
  return {};
}

TEST(Transfers, WhatIsAboveALimitIsRefusedByName) {
  const WireMessage message = message_of({share(Bytes(1000))});  // costs 8 + 1000 + 128
  AssemblerLimits limits;
  limits.max_message_bytes = 1135;
  EXPECT_EQ(open_error(message, limits),
            (Error{Errc::kTooLarge, "transfer: message bytes of 1136, at most 1135 allowed"}));
  limits.max_message_bytes = 1136;
  limits.max_open_bytes = 3000;
  EXPECT_EQ(
      open_error(message, limits),
      (Error{Errc::kTooLarge, "transfer: bytes of open transfers of 3408, at most 3000 allowed"}));
  limits.max_open_bytes = 1 << 20;
  limits.max_open_transfers = 4;
  EXPECT_EQ(open_error(message, limits),
            (Error{Errc::kTooLarge, "transfer: number of open transfers of 5, at most 4 allowed"}));
}

// Announced sizes cost nothing until bytes arrive, and many empty payloads count as well.
TEST(Transfers, AnAbsurdAnnouncementAllocatesNothing) {
  ByteWriter control;
  control.put(std::uint32_t{4});
  control.put(std::uint64_t{1});
  control.put(kMaxChunkBytes);
  for (int i = 0; i < 4; ++i) control.put(std::uint32_t{0xFFFFFFFF});
  Assembler assembler({});
  EXPECT_EQ(assembler.accept(MessageKind::kPush, control.bytes(), nullptr).error().code,
            Errc::kTooLarge);
  AssemblerLimits limits;
  limits.max_message_bytes = limits.max_open_bytes = 1ULL << 40;
  assembler.set_limits(limits);
  ASSERT_TRUE(assembler.accept(MessageKind::kPush, control.bytes(), nullptr));
  EXPECT_EQ(assembler.held_bytes(), 0U);

  ByteWriter many;
  many.put(std::uint32_t{kMaxPayloads});
  many.put(std::uint64_t{1});
  many.put(kMaxChunkBytes);
  for (std::size_t i = 0; i < kMaxPayloads; ++i) many.put(std::uint32_t{0});
  Assembler small({.max_message_bytes = 1 << 20, .max_open_bytes = 1 << 20});
  EXPECT_EQ(small.accept(MessageKind::kPush, many.bytes(), nullptr).error().code, Errc::kTooLarge);
}

TEST(Transfers, StrayFramesAreRefusedByName) {
  Assembler assembler({});
  ByteWriter chunk;
  chunk.put(std::uint64_t{8});
  chunk.put(std::uint64_t{0});
  EXPECT_EQ(assembler.accept(MessageKind::kChunk, chunk.bytes(), nullptr).error(),
            (Error{Errc::kMalformed, "transfer: a chunk of number 8, which is not open"}));
  EXPECT_EQ(assembler.accept(MessageKind::kPing, {}, nullptr).error(),
            (Error{Errc::kMalformed, "transfer: kind 4 opens no message"}));
  const OutFrame opening = split(message_of({}), 1).front();
  EXPECT_EQ(assembler.accept(opening.kind, opening.control, share(Bytes(1))).error(),
            (Error{Errc::kMalformed, "transfer: an opening frame has a payload"}));
}

}  // namespace
}  // namespace godwit::wire
