#include "bench/push_client.h"

#include <chrono>
#include <cmath>

#include "server/app/permissions.h"
#include "shared/base/random.h"
#include "shared/codec/codec.h"

namespace godwit::bench {
namespace {

constexpr Duration kPatience = seconds(30);  // for any one answer
constexpr std::string_view kWorker = "worker-0";
constexpr float kTokensPerStep = 64;

SessionOptions session_options(const LocalCluster& cluster) {
  const ClusterConfig& config = cluster.config();
  const std::string holder = worker_certificate(cluster.first().region, kWorker);
  SessionOptions options;
  options.server = to_string(cluster.first().data);
  options.region = cluster.first().region;
  options.name = kWorker;
  options.certificate_file = config.certificate_file(holder).string();
  options.key_file = config.key_file(holder).string();
  options.authority_file = config.authority_file().string();
  return options;
}

}  // namespace

PushClient::PushClient(const LocalCluster& cluster)
    : options_(session_options(cluster)), block_parameters_(cluster.config().run.block_parameters), link_(options_) {}

Result<std::unique_ptr<PushClient>> PushClient::connect(const LocalCluster& cluster, std::uint64_t parameters) {
  std::unique_ptr<PushClient> client(new PushClient(cluster));
  if (Result<void> started = client->link_.start(); !started) return started.error();
  if (Result<void> introduced = client->introduce(parameters); !introduced) return introduced.error();
  return client;
}

Result<Message> PushClient::receive() {
  const TimePoint deadline = net::now() + kPatience;
  while (net::now() < deadline) {
    link_.wait_for_arrival(deadline);
    std::optional<client::Arrival> arrival = link_.next_arrival();
    if (!arrival) continue;
    if (const auto* gone = std::get_if<client::Disconnected>(&*arrival)) return gone->why;
    auto* message = std::get_if<Message>(&*arrival);
    if (message == nullptr) continue;  // connected
    if (const auto* announce = std::get_if<Announce>(message)) {
      header_.round = std::max(header_.round, announce->round);
    } else {
      return std::move(*message);
    }
  }
  return Error{Errc::kTimedOut, "the server did not answer"};
}

void PushClient::fill_payloads(const Layout& layout) {
  Random random(1);
  for (const Block& block : layout.shards.front().blocks) {
    std::vector<float> values(block.count);
    // Every value between -0.01 and 0.01: noise does not compress, as progress does not.
    for (float& value : values) value = static_cast<float>((random.uniform() - 0.5) * 0.02);
    payloads_.push_back(share(encode_block(header_.codec, values)));
    push_bytes_ += payloads_.back()->size();
  }
}

Result<void> PushClient::introduce(std::uint64_t parameters) {
  while (true) {  // until connected
    link_.wait_for_arrival(net::now() + kPatience);
    const std::optional<client::Arrival> first = link_.next_arrival();
    if (!first) return Error{Errc::kTimedOut, "no connection to the server"};
    if (std::holds_alternative<client::Connected>(*first)) break;
    if (const auto* gone = std::get_if<client::Disconnected>(&*first); gone && gone->fatal) return gone->why;
  }
  Manifest manifest;
  manifest.block_parameters = block_parameters_;
  manifest.tensors.push_back({"weights", {static_cast<std::int64_t>(parameters)}, false});
  link_.send(ManifestOffer{manifest});
  const Result<Message> answer = receive();
  if (!answer) return answer.error();
  const auto* reply = std::get_if<ManifestReply>(&*answer);
  if (reply == nullptr || !reply->manifest) return Error{Errc::kInternal, "the server did not take the manifest"};

  header_.id.worker = app::worker_id({"", options_.region, net::Role::kWorker, options_.name});
  header_.id.incarnation = Incarnation(1);
  header_.manifest = reply->manifest->hash();
  header_.codec = CodecSpec{CodecId::kFp32, false};
  fill_payloads(Layout(*reply->manifest));
  push(PushKind::kInitial);
  if (Result<void> acknowledged = await_acknowledgement(); !acknowledged) return acknowledged;
  link_.send(Join{kTokensPerStep});
  header_.round = std::max(header_.round, Round(1));
  return {};
}

void PushClient::push(PushKind kind) {
  header_.id.sequence = header_.id.sequence.next();
  PushHeader header = header_;
  header.kind = kind;
  header.weight = 1;
  if (kind == PushKind::kPseudoGradient) {
    header.weight = kTokensPerStep;
    header.steps = 16;
    header.tokens = static_cast<std::uint64_t>(header.weight) * header.steps;
    header.step_seconds = 0.01F;
  }
  link_.send(Push{header, payloads_});
}

Result<void> PushClient::await_acknowledgement() {
  while (true) {
    const Result<Message> message = receive();
    if (!message) return message.error();
    const auto* reply = std::get_if<PushReply>(&*message);
    if (reply == nullptr) continue;
    if (reply->outcome == PushOutcome::kAcknowledged) return {};
    return Error{reply->reason, "a push was not taken: " + reply->detail};
  }
}

Result<double> PushClient::measure(Duration duration, std::uint32_t window) {
  const TimePoint start = net::now();
  std::uint64_t sent = 0;
  std::uint64_t acknowledged = 0;
  while (true) {
    while (net::now() < start + duration && sent - acknowledged < window) {
      push(PushKind::kPseudoGradient);
      ++sent;
    }
    if (acknowledged == sent) break;
    if (Result<void> taken = await_acknowledgement(); !taken) return taken.error();
    ++acknowledged;
  }
  const double seconds = std::chrono::duration<double>(net::now() - start).count();
  return static_cast<double>(acknowledged * push_bytes_) / seconds;
}

}  // namespace godwit::bench
