// The rebase rule (design, section 6), interleaving by interleaving.
#include "worker/core/rebase.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/worker/tiny_log.h"

namespace godwit::test {
namespace {

using Values = std::vector<float>;

PushId push_id(std::uint64_t sequence) {
  return {WorkerId(1), Incarnation(1), SequenceNo(sequence)};
}

Values plus(Values left, const Values& right) {
  for (std::size_t i = 0; i < left.size(); ++i) left[i] += right[i];
  return left;
}

Values whole_numbers() {
  Values values;
  for (const int value :
       *rc::gen::container<std::vector<int>>(kTinyParameters, rc::gen::inRange(-999, 1000))) {
    values.push_back(static_cast<float>(value));
  }
  return values;
}

// A worker at version 1 of a log, whose parameters are two pieces of memory.
struct Trainee {
  TinyLog log;
  Values first = Values(5, -7), second = Values(kTinyParameters - 5, -7);
  Parameters theta;
  ShardView view{ShardId(), Layout(tiny_manifest()).shards[0]};

  explicit Trainee(const Values& model) {
    theta.add(first);
    theta.add(second);
    merge(log.append(model));
  }
  ShardView::Merged merge(const Entry& entry) {
    Result<ShardView::Merged> merged = view.merge({entry}, theta);
    EXPECT_TRUE(merged);
    return *merged;
  }
  void train(const Values& step) {
    theta.for_range(0, kTinyParameters, [&](std::uint64_t at, std::span<float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] += step[at + i];
    });
    if (view.pending()) ++view.pending()->steps_since;
  }
  void push(std::uint64_t sequence) {
    PendingPush pending;
    pending.push.header.id = push_id(sequence);
    pending.q = view.progress(theta);
    view.pending() = pending;
  }
  Values parameters() const {
    Values all = first;
    all.insert(all.end(), second.begin(), second.end());
    return all;
  }
};

TEST(Rebase, TheFirstAnchorReplacesWhateverTheCallerStartedFrom) {
  const Values model(kTinyParameters, 3);
  EXPECT_EQ(Trainee(model).parameters(), model);
}

RC_GTEST_PROP(Rebase, AVersionWithoutMyPushKeepsMyProgress, ()) {
  Trainee worker(whole_numbers());
  const Values mine = whole_numbers();
  worker.train(mine);
  worker.merge(worker.log.append(whole_numbers()));
  RC_ASSERT(worker.parameters() == plus(worker.log.values(), mine));
}

RC_GTEST_PROP(Rebase, APushNamedWhileTrainingGoesOnIsSpentOnce, ()) {
  const Verdict verdict =
      *rc::gen::element(Verdict::kApplied, Verdict::kRefused, Verdict::kDiscarded);
  Trainee worker(whole_numbers());
  worker.train(whole_numbers());
  worker.push(1);
  const Values later = whole_numbers();
  worker.train(later);
  const ShardView::Merged merged =
      worker.merge(worker.log.append(whole_numbers(), {{push_id(1), verdict}}));
  RC_ASSERT(merged.named && merged.named->verdict == verdict);
  RC_ASSERT(!worker.view.pending());
  RC_ASSERT(worker.parameters() == plus(worker.log.values(), later));
  worker.merge(worker.log.append(whole_numbers(),
                                 {{push_id(1), verdict}}));  // named again: not mine any more
  RC_ASSERT(worker.parameters() == plus(worker.log.values(), later));
}

RC_GTEST_PROP(Rebase, ALatePushStaysPendingThroughOtherVersions, ()) {
  Trainee worker(whole_numbers());
  const Values pushed = whole_numbers(), later = whole_numbers();
  worker.train(pushed);
  worker.push(1);
  worker.train(later);
  for (int version = 0; version < 3; ++version) {
    worker.merge(worker.log.append(whole_numbers(), {{push_id(99)}}));
    RC_ASSERT(worker.view.pending());
    RC_ASSERT(worker.parameters() == plus(plus(worker.log.values(), pushed), later));
  }
  worker.merge(worker.log.append(whole_numbers(), {{push_id(1)}}));
  RC_ASSERT(worker.parameters() == plus(worker.log.values(), later));
}

RC_GTEST_PROP(Rebase, ATruncationKeepsProgressAndThePendingPush, ()) {
  const Values model = whole_numbers();
  Trainee worker(model);
  worker.train(whole_numbers());
  worker.push(1);
  const Values later = whole_numbers();
  worker.train(later);
  worker.merge(worker.log.append(whole_numbers()));  // this version will be truncated

  TinyLog other;
  other.append(model);
  other.append(whole_numbers());
  other.append(whole_numbers());
  const Values progress = worker.view.progress(worker.theta);
  RC_ASSERT(worker.view.replace(other.snapshot(), std::nullopt, worker.theta));
  RC_ASSERT(worker.view.pending());
  RC_ASSERT(worker.view.progress(worker.theta) == progress);
  worker.merge(other.append(whole_numbers(), {{push_id(1)}}));
  RC_ASSERT(worker.parameters() == plus(other.values(), later));
}

RC_GTEST_PROP(Rebase, APushSpentByATruncatedVersionStaysSpent, ()) {
  const Values model = whole_numbers();
  Trainee worker(model);
  worker.train(whole_numbers());
  worker.push(1);
  const Values later = whole_numbers();
  worker.train(later);
  worker.merge(worker.log.append(whole_numbers(), {{push_id(1)}}));  // truncated, too

  TinyLog other;
  other.append(model);
  other.append(whole_numbers());
  RC_ASSERT(worker.view.replace(other.snapshot(), std::nullopt, worker.theta));
  RC_ASSERT(worker.parameters() == plus(other.values(), later));
  worker.merge(other.append(whole_numbers(), {{push_id(1)}}));  // the outbox offered it again
  RC_ASSERT(worker.parameters() == plus(other.values(), later));
}

RC_GTEST_PROP(Rebase, ASnapshotThatNamesThePushSpendsIt, ()) {
  Trainee worker(whole_numbers());
  worker.train(whole_numbers());
  worker.push(1);
  const Values later = whole_numbers();
  worker.train(later);
  worker.log.append(whole_numbers(), {{push_id(1)}});
  worker.log.append(whole_numbers());
  const NamedPush named{push_id(1), Version(2), Verdict::kApplied};
  RC_ASSERT(worker.view.replace(worker.log.snapshot(), named, worker.theta));
  RC_ASSERT(worker.parameters() == plus(worker.log.values(), later));
}

RC_GTEST_PROP(Rebase, ARestoreTakesTheProgressWithIt, (bool from_snapshot)) {
  Trainee worker(whole_numbers());
  worker.train(whole_numbers());
  worker.push(1);
  worker.train(whole_numbers());
  const Values past = whole_numbers();
  const Entry restored = worker.log.append_restore(past, 1);
  if (from_snapshot) {
    worker.log.append(whole_numbers());
    RC_ASSERT(worker.view.replace(worker.log.snapshot(), std::nullopt, worker.theta)->restored);
  } else {
    RC_ASSERT(worker.merge(restored).restored);
    RC_ASSERT(worker.parameters() == past);
  }
  RC_ASSERT(worker.parameters() == worker.log.values());
  RC_ASSERT(worker.view.pending());  // it waits for its verdict
  const Values later = whole_numbers();
  worker.train(later);
  worker.merge(worker.log.append(whole_numbers(), {{push_id(1), Verdict::kDiscarded}}));
  RC_ASSERT(worker.parameters() == plus(worker.log.values(), later));
}

TEST(Rebase, AForkWithTheSameRestoreKeepsProgress) {
  Trainee worker(Values(kTinyParameters, 1));
  worker.merge(worker.log.append_restore(Values(kTinyParameters, 5), 1));
  worker.train(Values(kTinyParameters, 2));
  TinyLog other;
  other.append(Values(kTinyParameters, 1));
  other.append_restore(Values(kTinyParameters, 5), 1);
  other.append(Values(kTinyParameters, 3));
  EXPECT_FALSE(worker.view.replace(other.snapshot(), std::nullopt, worker.theta)->restored);
  EXPECT_EQ(worker.parameters(), Values(kTinyParameters, 10));
}

TEST(Rebase, WithoutAStepSinceThePushTheAnchorIsAssignedBitForBit) {
  Trainee worker(Values(kTinyParameters, 0.1F));
  worker.train(
      Values(kTinyParameters, 1e-9F));  // theta - A + q would not give the anchor back exactly
  worker.push(1);
  worker.merge(worker.log.append(Values(kTinyParameters, 0.3F), {{push_id(1)}}));
  EXPECT_EQ(worker.parameters(), worker.log.values());
}

TEST(Rebase, WhatDoesNotFitChangesNothing) {
  Trainee worker(Values(kTinyParameters, 1));
  worker.train(Values(kTinyParameters, 2));
  const Values before = worker.parameters();
  const Entry next = worker.log.append(Values(kTinyParameters, 4));
  const Entry gap = worker.log.append(Values(kTinyParameters, 8));
  EXPECT_EQ(worker.view.merge({gap}, worker.theta).error().code, Errc::kForked);
  Entry damaged = next;
  Bytes bytes = *damaged.payloads[0];
  bytes[3] ^= std::byte{1};
  damaged.payloads[0] = share(std::move(bytes));
  EXPECT_EQ(worker.view.merge({damaged}, worker.theta).error().code, Errc::kCorrupt);
  EXPECT_EQ(worker.view.merge({next, damaged}, worker.theta).error().code, Errc::kForked);
  EXPECT_EQ(worker.parameters(), before);
  EXPECT_EQ(worker.view.head().version, Version(1));
  EXPECT_TRUE(worker.view.merge({next, gap}, worker.theta));
}

}  // namespace
}  // namespace godwit::test
