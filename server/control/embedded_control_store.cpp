#include "server/control/embedded_control_store.h"

#include <utility>

namespace godwit {

Result<std::unique_ptr<EmbeddedControlStore>> EmbeddedControlStore::open(Store& store,
                                                                         Clock clock) {
  auto state = ControlState::load(store, clock());
  if (!state) return state.error();
  return std::unique_ptr<EmbeddedControlStore>(
      new EmbeddedControlStore(store, std::move(clock), std::move(*state)));
}

void EmbeddedControlStore::request(ControlRequest request, Callback done) {
  Answers answers;
  {
    const std::lock_guard lock(mutex_);
    const TimePoint now = clock_();
    ControlReply reply = decide(request, now);
    const bool waits = request.kind == ControlKind::kWatch && request.wait > Duration::zero() &&
                       !reply.error && reply.items.empty();
    if (waits && watches_.size() < kControlWatchesMax) {
      const TimePoint deadline = now + request.wait;
      watches_.push_back({std::move(request), deadline, std::move(done)});
    } else {
      if (waits) {
        reply.error = Error{Errc::kOverloaded, "limit of " + std::to_string(kControlWatchesMax) +
                                                   " waiting watches: retry after 1 s"};
      }
      answers.emplace_back(std::move(done), std::move(reply));
    }
    collect_answers(now, answers);
  }
  run(answers);
}

ControlReply EmbeddedControlStore::ask(const ControlRequest& request) {
  Answers answers;
  ControlReply reply;
  {
    const std::lock_guard lock(mutex_);
    const TimePoint now = clock_();
    reply = decide(request, now);
    collect_answers(now, answers);
  }
  run(answers);
  return reply;
}

void EmbeddedControlStore::tick() {
  Answers answers;
  {
    const std::lock_guard lock(mutex_);
    const TimePoint now = clock_();
    if (!failure_) make_durable(state_.expire_leases(now));
    collect_answers(now, answers);
  }
  run(answers);
}

void EmbeddedControlStore::stop() {
  Answers answers;
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = Error{Errc::kClosed, "the control store is stopping"};
    collect_answers(clock_(), answers);
  }
  run(answers);
}

ControlReply EmbeddedControlStore::decide(const ControlRequest& request, TimePoint now) {
  ControlReply failed;
  if (!failure_) {
    ControlStep step = state_.handle(request, now);
    make_durable(step.batch);
    if (!failure_) return std::move(step.reply);
  }
  failed.error = failure_;
  return failed;
}

void EmbeddedControlStore::make_durable(const Batch& batch) {
  if (batch.empty()) return;
  if (auto written = store_.write(batch); !written) failure_ = written.error();
}

// Watches that changed, timed out or failed leave in the order in which they came.
void EmbeddedControlStore::collect_answers(TimePoint now, Answers& answers) {
  std::vector<Watch> waiting;
  for (Watch& watch : watches_) {
    const bool changed = state_.has_change(watch.request.key, watch.request.since_revision);
    if (!failure_ && !changed && watch.deadline > now) {
      waiting.push_back(std::move(watch));
    } else {
      answers.emplace_back(std::move(watch.done), decide(watch.request, now));
    }
  }
  watches_ = std::move(waiting);
}

void EmbeddedControlStore::run(Answers& answers) {
  for (auto& [done, reply] : answers) done(std::move(reply));
}

}  // namespace godwit
