#include "worker/client/session.h"

#include <algorithm>
#include <fstream>

#include "shared/base/checksum.h"
#include "shared/base/log.h"
#include "shared/tensor/kernels.h"
#include "worker/client/history.h"
#include "worker/client/link.h"
#include "worker/core/worker_core.h"

namespace godwit {
namespace {

constexpr auto kInitialPatience = milliseconds(700);  // for somebody else's initial model to arrive
constexpr auto kOfferInterval = milliseconds(500);    // of the model, until the cluster has agreed on one
constexpr auto kPumpInterval = milliseconds(50);      // longest sleep while waiting: retries are timed by it

Manifest manifest_of(const std::vector<TensorSpec>& tensors, const wire::Welcome& welcome) {
  Manifest manifest;
  manifest.shards = welcome.shard_count;
  for (const TensorSpec& tensor : tensors) manifest.tensors.push_back({tensor.name, tensor.shape, tensor.exact});
  return manifest;
}

// An answer that another try may change.
bool may_pass(const ManifestReply& reply) {
  return !reply.manifest && (reply.error == Errc::kUnavailable || reply.error == Errc::kTimedOut);
}

Result<void> check_tensors(const std::vector<TensorSpec>& tensors) {
  for (const TensorSpec& tensor : tensors) {
    std::uint64_t count = 1;
    for (const std::int64_t size : tensor.shape) count *= static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0));
    if (count != tensor.values.size()) {
      return Error{Errc::kInvalid, "tensor '" + tensor.name + "': its shape holds " + std::to_string(count) +
                                       " values, its span " + std::to_string(tensor.values.size())};
    }
  }
  return {};
}

}  // namespace

class Session::Implementation {
 public:
  explicit Implementation(SessionOptions options) : options_(std::move(options)), link_(options_) {
    if (!options_.acknowledgements_file.empty()) {
      acknowledgements_.open(options_.acknowledgements_file, std::ios::app);
    }
  }

  Result<void> connect() {
    if (!options_.acknowledgements_file.empty() && !acknowledgements_) {
      return Error{Errc::kConfig, "cannot append to " + options_.acknowledgements_file};
    }
    if (!options_.history_file.empty()) {
      if (Result<void> opened = history_.open(options_.history_file); !opened) return opened;
    }
    if (options_.tokens_per_step == 0) return Error{Errc::kConfig, "tokens_per_step must be above 0"};
    if (Result<void> started = link_.start(); !started) return started;
    const TimePoint deadline = net::now() + options_.connect_deadline;
    while (!welcome_) {
      if (Result<void> waited = wait(deadline, "no connection to " + options_.server); !waited) return waited;
      if (Result<void> pumped = pump(); !pumped) return pumped;
    }
    return {};
  }

  Result<void> start(std::vector<TensorSpec> tensors) {
    if (Result<void> checked = check_tensors(tensors); !checked) return checked;
    tensors_ = std::move(tensors);
    for (const bool exact : {false, true}) {  // flat order: the lossy class first
      for (const TensorSpec& tensor : tensors_) {
        if (tensor.exact == exact) theta_.add(tensor.values);
      }
    }
    manifest_ = manifest_of(tensors_, *welcome_);
    if (Result<void> valid = manifest_.validate(); !valid) return valid;
    const TimePoint deadline = net::now() + options_.connect_deadline;
    if (Result<void> agreed = agree_on_manifest(deadline); !agreed) return agreed;
    create_core();
    perform(core_->on_connected(net::now()));
    const TimePoint patience = net::now() + kInitialPatience;
    while (!core_->ready()) {
      if (net::now() >= patience) {
        if (Result<void> finite = check_finite("initialise it before start()"); !finite) return finite;
        perform(core_->offer_initial(theta_, net::now()));
      }
      if (Result<void> waited = wait(deadline, "the run has no model yet"); !waited) return waited;
      if (Result<void> pumped = pump(); !pumped) return pumped;
    }
    perform(core_->join());
    stepped_at_ = net::now();
    return {};
  }

  Result<StepReport> step(std::uint64_t tokens) {
    report_.merged = report_.pushed = false;
    report_.waited = {};
    if (Result<void> pumped = pump(); !pumped) return pumped.error();
    const TimePoint now = net::now();
    const auto step_seconds = static_cast<float>(to_seconds(now - stepped_at_));
    const char* const advice = "training has diverged; lower the learning rate and start this worker again";
    if (Result<void> finite = check_finite(advice); !finite) return finite.error();
    perform(core_->on_step(tokens, step_seconds, theta_, now));
    if (Result<void> waited = wait_while_bound(now); !waited) return waited.error();
    stepped_at_ = net::now();
    report_.waited = stepped_at_ - now;
    return report();
  }

  Result<StepReport> finish(std::chrono::milliseconds deadline) {
    const TimePoint until = net::now() + deadline;
    if (core_) {
      const Result<void> left = finish_until(&WorkerCore::everything_acknowledged, until, "acknowledged");
      if (!left) return left.error();
      perform(core_->finish(theta_, net::now()));  // leaves
      if (history_.is_open()) {
        history_.end(finish_until(&WorkerCore::everything_named, until, "named").has_value());
      }
    }
    link_.stop();
    return report();
  }

 private:
  Result<void> finish_until(bool (WorkerCore::*everything)() const, TimePoint deadline, const std::string& what) {
    while (!((*core_).*everything)()) {
      perform(core_->finish(theta_, net::now()));
      if (((*core_).*everything)()) break;
      if (Result<void> waited = wait(deadline, "not everything is " + what); !waited) return waited;
      if (Result<void> pumped = pump(); !pumped) return pumped;
    }
    return {};
  }

  Result<void> agree_on_manifest(TimePoint deadline) {
    // Again and again: the offer or its answer may fall into a broken connection, and a server that has just
    // started may not reach the control store yet.
    TimePoint due = net::now();
    std::string why = "the cluster did not answer about the model";
    while (!manifest_reply_ || may_pass(*manifest_reply_)) {
      if (manifest_reply_) why = "the cluster cannot agree on a model: " + manifest_reply_->detail;
      manifest_reply_.reset();
      if (net::now() >= due) {
        link_.send(ManifestOffer{manifest_});
        due = net::now() + kOfferInterval;
      }
      if (Result<void> waited = wait(deadline, why); !waited) return waited;
      if (Result<void> pumped = pump(); !pumped) return pumped;
    }
    if (!manifest_reply_->manifest) return Error{manifest_reply_->error, manifest_reply_->detail};
    manifest_.shards = manifest_reply_->manifest->shards;  // how the model is cut is the cluster's to say
    manifest_.block_parameters = manifest_reply_->manifest->block_parameters;
    if (const std::string difference = manifest_.first_difference(*manifest_reply_->manifest); !difference.empty()) {
      return Error{Errc::kConflict, "this model is not the run's: " + difference};
    }
    return {};
  }

  void create_core() {
    WorkerSettings settings;
    settings.id = WorkerId(checksum(view(options_.region + "/" + options_.name)).value());
    settings.incarnation = Incarnation(net::wall_microseconds());
    settings.weight = static_cast<float>(options_.tokens_per_step);
    settings.lan_codec = welcome_->lan_codec;
    settings.manifest = manifest_.hash();
    settings.max_local_steps = welcome_->max_local_steps;
    settings.window = milliseconds(welcome_->window_ms);
    core_.emplace(settings, Layout(manifest_));
    history_.start(options_.region + "/" + options_.name, settings);
  }

  // NaN never leaves this process: the caller learns of it here, with its parameters still in hand.
  Result<void> check_finite(const char* advice) const {
    for (const TensorSpec& tensor : tensors_) {
      if (!kernels::all_finite(tensor.values)) {
        return Error{Errc::kInvalid, "tensor '" + tensor.name + "' holds NaN or infinity: " + advice};
      }
    }
    return {};
  }

  Result<void> wait_while_bound(TimePoint since) {
    for (std::string why = core_->must_wait(); !why.empty(); why = core_->must_wait()) {
      if (report_.stop) return {};
      if (Result<void> waited = wait(since + options_.stall_deadline, "waited " + why); !waited) return waited;
      if (Result<void> pumped = pump(); !pumped) return pumped;
      perform(core_->on_tick(theta_, net::now()));
    }
    return {};
  }

  // Sleeps until something arrives, a short while at most.
  Result<void> wait(TimePoint deadline, const std::string& why) {
    if (net::now() >= deadline) {
      return Error{Errc::kTimedOut, why + (last_disconnect_.empty() ? "" : " (" + last_disconnect_ + ")")};
    }
    link_.wait_for_arrival(std::min(deadline, net::now() + kPumpInterval));
    return {};
  }

  // Takes in everything that has arrived.
  Result<void> pump() {
    while (std::optional<client::Arrival> arrival = link_.next_arrival()) {
      if (auto* connected = std::get_if<client::Connected>(&*arrival)) {
        welcome_ = connected->welcome;
        last_disconnect_.clear();
        if (core_) perform(core_->on_connected(net::now()));
      } else if (auto* lost = std::get_if<client::Disconnected>(&*arrival)) {
        last_disconnect_ = lost->why.to_string();
        if (lost->fatal) return lost->why;
      } else {
        on_message(std::get<Message>(*arrival));
      }
    }
    return {};
  }

  void on_message(const Message& message) {
    if (const auto* reply = std::get_if<ManifestReply>(&message)) {
      manifest_reply_ = *reply;
    } else if (std::holds_alternative<Stop>(message)) {
      report_.stop = true;
    } else if (core_) {
      const WorkerEffects effects = core_->on_message(message, theta_, net::now());
      history_.received(message, *core_);
      perform(effects);
    }
  }

  void perform(const WorkerEffects& effects) {
    for (const Message& message : effects.sends) {
      history_.sent(message);
      link_.send(message);
    }
    for (std::size_t i = 0; i < effects.acknowledged.size(); ++i) {
      const PushId& id = effects.acknowledged[i];
      ++report_.acknowledged;
      if (!acknowledgements_.is_open()) continue;
      acknowledgements_ << effects.acknowledged_shards[i].value() << ' ' << id.worker.value() << ' '
                        << id.incarnation.value() << ' ' << id.sequence.value() << std::endl;
    }
    for (const std::string& warning : effects.warnings) log::warning("client", warning);
    report_.merged |= effects.merged;
    report_.pushed |= effects.pushed;
    report_.restored |= effects.restored;
  }

  StepReport report() {
    const EntryHeader& head = core_->shard(ShardId()).head();
    report_.version = head.version.value();
    report_.round = core_->highest_round().value();
    report_.run_tokens = head.total_tokens;
    report_.staleness_rounds = core_->staleness_rounds();
    report_.synchronous = core_->synchronous();
    return report_;
  }

  SessionOptions options_;
  client::Link link_;
  std::ofstream acknowledgements_;
  client::History history_;
  std::optional<wire::Welcome> welcome_;
  std::optional<ManifestReply> manifest_reply_;
  std::string last_disconnect_;
  std::vector<TensorSpec> tensors_;
  Parameters theta_;
  Manifest manifest_;
  std::optional<WorkerCore> core_;
  TimePoint stepped_at_{};
  StepReport report_;
};

Session::Session(std::unique_ptr<Implementation> implementation) : implementation_(std::move(implementation)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::connect(SessionOptions options) {
  auto implementation = std::make_unique<Implementation>(std::move(options));
  if (Result<void> connected = implementation->connect(); !connected) return connected.error();
  return Session(std::move(implementation));
}

Result<void> Session::start(std::vector<TensorSpec> tensors) { return implementation_->start(std::move(tensors)); }
Result<StepReport> Session::step(std::uint64_t tokens) { return implementation_->step(tokens); }
Result<StepReport> Session::finish(std::chrono::milliseconds deadline) { return implementation_->finish(deadline); }

}  // namespace godwit
