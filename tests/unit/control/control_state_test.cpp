#include "server/control/control_state.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "server/storage/memory_store.h"
#include "tests/unit/control/requests.h"

namespace godwit {
namespace {

using namespace requests;

// ControlState over a MemoryStore, with a clock in hand.
class ControlStateTest : public testing::Test {
 protected:
  ControlStateTest() { reload(); }
  std::string ask(const ControlRequest& request) {
    const ControlStep step = state_.handle(request, now_);
    EXPECT_TRUE(step.batch.empty() || store_.write(step.batch).has_value());
    return describe(step.reply);
  }
  bool is_persisted(const ControlRequest& request) {
    const ControlStep step = state_.handle(request, now_);
    EXPECT_TRUE(store_.write(step.batch).has_value());
    EXPECT_TRUE(step.batch.empty() || step.batch.sync);
    return !step.batch.empty();
  }
  void pass(Duration time) { now_ += time; }
  void reload() {
    auto loaded = ControlState::load(store_, now_);
    ASSERT_TRUE(loaded.has_value()) << loaded.error().to_string();
    state_ = std::move(*loaded);
  }
  std::string load_error() {
    const auto loaded = ControlState::load(store_, now_);
    return loaded ? "loaded" : loaded.error().to_string();
  }
  MemoryStore& store() { return store_; }
  ControlState& state() { return state_; }
  TimePoint now() const { return now_; }

 private:
  MemoryStore store_;
  ControlState state_;
  TimePoint now_{seconds(1000)};
};

TEST_F(ControlStateTest, CompareAndSwapNeedsTheRevisionOfTheKey) {
  EXPECT_EQ(ask(get("a")), "| 0");
  EXPECT_EQ(ask(swap("a", 1, "x")), "conflict | 0");
  EXPECT_EQ(ask(swap("a", 0, "x")), "a=x@1 | 1");
  EXPECT_EQ(ask(swap("a", 0, "y")), "conflict a=x@1 | 1");
  EXPECT_EQ(ask(swap("b", 0, "z")), "b=z@2 | 2");
  EXPECT_EQ(ask(swap("a", 2, "y")), "conflict a=x@1 | 2");
  EXPECT_EQ(ask(swap("a", 1, "y")), "a=y@3 | 3");
  EXPECT_EQ(ask(get("a")), "a=y@3 | 3");
}

TEST_F(ControlStateTest, OnlyChangesArePersisted) {
  EXPECT_TRUE(is_persisted(swap("a", 0, "x")));
  EXPECT_FALSE(is_persisted(swap("a", 0, "y")));
  EXPECT_FALSE(is_persisted(get("a")));
  EXPECT_FALSE(is_persisted(list("")));
  EXPECT_TRUE(is_persisted(keep("lease", "eu", seconds(5))));
  EXPECT_FALSE(is_persisted(keep("lease", "eu", seconds(5)))) << "a keepalive costs no disk sync";
  EXPECT_TRUE(is_persisted(keep("lease", "eu", seconds(6))));
}

TEST_F(ControlStateTest, ConflictSaysWhy) {
  ask(swap("shard/0/leader", 0, "eu"));
  const ControlStep step = state().handle(swap("shard/0/leader", 7, "us"), now());
  EXPECT_EQ(step.reply.error->context, "shard/0/leader is at revision 1, expected 7");
}

TEST_F(ControlStateTest, AnInvalidRequestIsAnsweredAndChangesNothing) {
  EXPECT_EQ(ask(swap("no spaces", 0, "x")), "invalid | 0");
  EXPECT_EQ(ask(list("")), "| 0");
}

TEST_F(ControlStateTest, ListAndWatchTellTheLatestStateOfEachKeyInOrderOfRevision) {
  ask(swap("shard/1/leader", 0, "eu"));
  ask(swap("run/mode", 0, "sync"));
  ask(swap("shard/0/leader", 0, "us"));
  ask(swap("shard/1/leader", 1, "ap"));
  EXPECT_EQ(ask(list("")), "run/mode=sync@2 shard/0/leader=us@3 shard/1/leader=ap@4 | 4");
  EXPECT_EQ(ask(list("shard/")), "shard/0/leader=us@3 shard/1/leader=ap@4 | 4");
  EXPECT_EQ(ask(watch("shard/", 3, seconds(1))), "shard/1/leader=ap@4 | 4");
  EXPECT_EQ(ask(watch("run/", 2, seconds(1))), "| 4");
  EXPECT_TRUE(state().has_change("shard/", Revision(3)));
  EXPECT_FALSE(state().has_change("shard/", Revision(4)));
  EXPECT_FALSE(state().has_change("run/", Revision(2)));
}

TEST_F(ControlStateTest, AReaderThatIsAheadMustReadAgain) {
  ask(swap("a", 0, "x"));
  EXPECT_EQ(ask(watch("", 2, seconds(1))), "forked | 1");
}

TEST_F(ControlStateTest, ALongListIsReadInParts) {
  const std::string large(kControlValueBytesMax, 'v');
  for (char key = 'a'; key < 'k'; ++key) ask(swap(std::string(1, key), 0, large));
  std::string keys;
  std::uint64_t since = 0;
  int parts = 0;
  for (bool more = true; more; ++parts) {
    const ControlReply reply = state().handle(list("", since), now()).reply;
    for (const ControlItem& item : reply.items) keys += item.key;
    since = reply.revision.value();
    more = reply.more;
  }
  EXPECT_EQ(keys, "abcdefghij");
  EXPECT_EQ(parts, 4);
  EXPECT_EQ(since, 10U);
}

TEST_F(ControlStateTest, ALeaseIsHeldUntilItRunsOut) {
  EXPECT_EQ(ask(keep("lease", "eu", seconds(5))), "lease=eu@1 | 1");
  pass(seconds(4));
  EXPECT_EQ(ask(keep("lease", "us", seconds(5))), "conflict lease=eu@1 | 1");
  EXPECT_EQ(ask(keep("lease", "eu", seconds(5))), "lease=eu@1 | 1");
  pass(seconds(5) - Duration(1));
  EXPECT_EQ(ask(get("lease")), "lease=eu@1 | 1");
  pass(Duration(1));
  EXPECT_EQ(ask(get("lease")), "lease=@2 | 2") << "running out is a change";
  EXPECT_EQ(ask(keep("lease", "us", seconds(5))), "lease=us@3 | 3");
}

TEST_F(ControlStateTest, ALeaseCanBeGivenUpByItsHolderOnly) {
  ask(keep("lease", "eu", seconds(5)));
  EXPECT_EQ(ask(keep("lease", "us", seconds(0))), "conflict lease=eu@1 | 1");
  EXPECT_EQ(ask(keep("lease", "eu", seconds(0))), "lease=@2 | 2");
  EXPECT_EQ(ask(keep("lease", "eu", seconds(0))), "lease=@2 | 2");
  EXPECT_EQ(ask(keep("other", "eu", seconds(0))), "| 2");
  pass(seconds(10));
  EXPECT_EQ(ask(get("lease")), "lease=@2 | 2") << "what was given up does not run out again";
}

TEST_F(ControlStateTest, TimeThatRunsBackwardsProlongsNothing) {
  ask(keep("lease", "eu", seconds(5)));
  pass(seconds(4));
  ask(get("lease"));
  pass(seconds(-100));
  ask(keep("lease", "eu", seconds(5)));
  pass(seconds(104));
  EXPECT_EQ(ask(get("lease")), "lease=eu@1 | 1");
  pass(seconds(1));
  EXPECT_EQ(ask(get("lease")), "lease=@2 | 2");
}

TEST_F(ControlStateTest, PlainKeysAndLeasesDoNotMix) {
  ask(swap("plain", 0, "x"));
  ask(keep("lease", "eu", seconds(5)));
  EXPECT_EQ(ask(keep("plain", "x", seconds(5))), "invalid plain=x@1 | 2");
  EXPECT_EQ(ask(swap("lease", 2, "x")), "invalid lease=eu@2 | 2");
  pass(seconds(5));
  EXPECT_EQ(ask(swap("lease", 3, "x")), "invalid lease=@3 | 3") << "not even when it is vacant";
}

TEST_F(ControlStateTest, AfterARestartEveryLeaseGetsItsFullTtl) {
  ask(keep("lease", "eu", seconds(5)));
  pass(seconds(4));
  reload();
  EXPECT_EQ(ask(keep("lease", "us", seconds(5))), "conflict lease=eu@1 | 1");
  pass(seconds(4));
  EXPECT_EQ(ask(get("lease")), "lease=eu@1 | 1");
  pass(seconds(1));
  EXPECT_EQ(ask(get("lease")), "lease=@2 | 2");
  reload();
  EXPECT_EQ(ask(get("lease")), "lease=@2 | 2");
}

TEST_F(ControlStateTest, AVanishedRecordIsFoundAtLoad) {
  ask(swap("a", 0, "x"));
  ask(swap("b", 0, "y"));
  const auto erase = [&](std::string_view key) {
    Batch batch;
    batch.erase(Family::kControl, copy(view(key)));
    EXPECT_TRUE(store().write(batch).has_value());
  };
  erase("ka");
  EXPECT_EQ(
      load_error(),
      "corrupt: control store: records are missing: 1 keys up to revision 2, recorded 2 up to 2");
  erase("h");
  EXPECT_EQ(load_error(), "corrupt: control store: the head record is missing");
  erase("kb");
  EXPECT_EQ(load_error(), "loaded") << "an empty store is a new one";
}

TEST_F(ControlStateTest, ARecordThatDoesNotParseIsFoundAtLoad) {
  ask(swap("a", 0, "x"));
  Batch batch;
  batch.put(Family::kControl, copy(view("kz")), copy(view("short")));
  ASSERT_TRUE(store().write(batch).has_value());
  EXPECT_EQ(load_error(), "corrupt: control store: the record of z is too short");
}

ControlRequest random_request(Random& random, Revision revision) {
  const std::string plain = "plain/" + std::to_string(random.below(3));
  const std::string lease = "lease/" + std::to_string(random.below(2));
  const std::string word = std::to_string(random.below(2));
  switch (random.below(4)) {
    case 0:
      return keep(lease, word, seconds(random.below(4)));
    case 1:
      return list("");
    default:
      return swap(plain, random.below(revision.value() + 1), word);
  }
}

RC_GTEST_PROP(ControlState, RevisionsAreDenseAndSurviveEveryCrash, (std::uint64_t seed)) {
  Random random(seed);
  MemoryStore store;
  TimePoint now{};
  auto state = ControlState::load(store, now);
  Revision told;  // the highest revision in any durable reply
  std::map<Revision, ControlItem> history;
  for (int event = 0; event < 60; ++event) {
    now += milliseconds(random.below(1500));
    const Revision before = state->revision();
    const ControlStep step = state->handle(random_request(random, before), now);
    const bool fails = random.chance(0.05);
    if (fails) store.fail_writes({Errc::kIo, "disk full"});
    if (!step.batch.empty() && !store.write(step.batch)) {
      store.crash(random);
      state = ControlState::load(store, now);
      RC_ASSERT(state.has_value());
      RC_ASSERT(state->revision() >= told);
      told = state->revision();
      history.clear();  // what was in doubt may have happened
    } else {
      told = state->revision();
      if (fails) store.crash(random);
    }
    const ControlReply all = state->handle(list(""), now).reply;
    for (const ControlItem& item : all.items) {
      const auto [seen, is_new] = history.emplace(item.revision, item);
      RC_ASSERT(seen->second == item);  // a revision names one change for ever
    }
    if (!all.items.empty()) RC_ASSERT(all.items.back().revision == all.revision);
    if (random.chance(0.1)) {
      store.crash(random);
      const auto again = ControlState::load(store, now);
      RC_ASSERT(again.has_value());
      RC_ASSERT(again->revision() == told);
      state = again;
      RC_ASSERT(state->handle(list(""), now).reply == all);
    }
  }
}

}  // namespace
}  // namespace godwit
