#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "server/core/open_aggregate.h"
#include "server/core/shard_state.h"
#include "tests/unit/core/bench.h"

namespace godwit {
namespace {

using test::filled;
using test::make_push;

const CodecSpec kFp32{CodecId::kFp32, false};

ShardLayout layout() { return Layout(test::small_manifest()).shards[0]; }

OpenAggregate aggregate_of(const std::vector<std::pair<float, std::vector<float>>>& pushes) {
  OpenAggregate aggregate;
  std::uint64_t worker = 1;
  for (const auto& [weight, d] : pushes) {
    test::PushParts parts;
    parts.worker = worker++;
    parts.weight = weight;
    aggregate.add(make_push(parts, d).header, d, 1);
  }
  return aggregate;
}

std::vector<float> stepped(const std::vector<Contribution>& contributions, double weight) {
  ShardState state(ShardId(), layout(), true);
  EntryHeader scalars;
  scalars.outer = Outer::kSgd;
  scalars.learning_rate = 1;
  scalars.inverse_weight = static_cast<float>(1 / weight);
  for (std::uint32_t block = 0; block < state.block_count(); ++block)
    EXPECT_TRUE(state.step_block(scalars, contributions, block, kFp32));
  return {state.values().begin(), state.values().end()};
}

RC_GTEST_PROP(Aggregate, HowPushesAreMergedDoesNotChangeTheModel, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 6);
  std::vector<std::pair<float, std::vector<float>>> pushes;
  double weight = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float> d(16);
    for (float& value : d) value = 0.001F * static_cast<float>(*rc::gen::inRange(-10000, 10000));
    pushes.emplace_back(static_cast<float>(*rc::gen::inRange(1, 64)), d);
    weight += pushes.back().first;
  }
  std::vector<Contribution> several;
  for (const auto& push : pushes) several.push_back(aggregate_of({push}).close(layout(), kFp32));
  const std::vector<float> merged = stepped({aggregate_of(pushes).close(layout(), kFp32)}, weight);
  const std::vector<float> apart = stepped(several, weight);
  for (std::size_t i = 0; i < merged.size(); ++i)
    RC_ASSERT(std::abs(merged[i] - apart[i]) <= 1e-5F);
}

TEST(Aggregate, IsASumNotAMean) {
  const OpenAggregate aggregate = aggregate_of({{2, filled(1)}, {3, filled(1)}});
  EXPECT_EQ(aggregate.sum[0], 5);
  EXPECT_EQ(aggregate.sum[15], 5 * 16);
  EXPECT_EQ(aggregate.members.size(), 2U);
}

TEST(Aggregate, ClippingIsPartOfTheWeight) {
  OpenAggregate aggregate;
  aggregate.add(make_push({}, filled(1)).header, filled(1), 0.25F);
  EXPECT_EQ(aggregate.sum[3], 4 * 2 * 0.25F);
  EXPECT_EQ(aggregate.members[0].clip, 0.25F);
}

TEST(Aggregate, KeepsTheOldestBase) {
  OpenAggregate aggregate;
  for (const std::uint64_t base : {9U, 4U, 7U}) {
    test::PushParts parts;
    parts.base = Version(base);
    parts.base_weight = static_cast<double>(10 * base);
    aggregate.add(make_push(parts, filled(1)).header, filled(1), 1);
  }
  EXPECT_EQ(aggregate.base_version, Version(4));
  EXPECT_EQ(aggregate.base_weight, 40);
}

TEST(Aggregate, ExactBlocksTravelInFp32) {
  const Contribution contribution =
      aggregate_of({{1, filled(0.1F)}}).close(layout(), {CodecId::kInt8, false});
  ASSERT_EQ(contribution.header.blocks.size(), 3U);
  EXPECT_EQ(contribution.header.blocks[0].codec.id, CodecId::kInt8);
  EXPECT_EQ(contribution.header.blocks[2].codec.id, CodecId::kFp32);
}

TEST(Journal, RoundTrip) {
  std::map<Round, OpenAggregate> open;
  open[Round(1)] = aggregate_of({{2, filled(1)}, {3, filled(5)}});
  open[Round(4)] = aggregate_of({{7, filled(-3)}});
  open[Round(4)].round = Round(4);
  const auto decoded = decode_journal(encode_journal(open), 16);
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->size(), 2U);
  for (const auto& [round, aggregate] : open) {
    EXPECT_EQ(decoded->at(round).sum, aggregate.sum);
    EXPECT_EQ(decoded->at(round).members, aggregate.members);
    EXPECT_EQ(decoded->at(round).round, round);
  }
}

TEST(Journal, AnotherModelOrAShortRecordIsCorrupt) {
  std::map<Round, OpenAggregate> open;
  open[Round(1)] = aggregate_of({{2, filled(1)}});
  Bytes bytes = encode_journal(open);
  EXPECT_EQ(decode_journal(bytes, 17).error().code, Errc::kCorrupt);
  bytes.pop_back();
  EXPECT_EQ(decode_journal(bytes, 16).error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace godwit
