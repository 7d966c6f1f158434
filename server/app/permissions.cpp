#include "server/app/permissions.h"

#include <array>

#include "shared/base/checksum.h"

namespace godwit::app {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Message>> kMessageNames = {
    "ManifestOffer", "Join",       "Leave",      "Push",      "Skip", "Pull",
    "ManifestReply", "PushReply",  "PullReply",  "Announce",  "Stop", "Subscribe",
    "Offer",         "EmptyOffer", "Replicated", "Presence",  "Lead", "Subscribed",
    "Replicate",     "Watermark",  "Install",    "OfferReply"};

std::string name(const net::Incoming& incoming) {
  if (std::holds_alternative<wire::ControlCall>(incoming)) return "ControlRequest";
  if (std::holds_alternative<wire::ControlAnswer>(incoming)) return "ControlReply";
  return std::string(kMessageNames[std::get<Message>(incoming).index()]);
}

Error forbidden(std::string why) { return Error{Errc::kForbidden, std::move(why)}; }

// What a region may ask of the control store: to read anything, to keep its own lease, to change
// what the regions agree on. Which change is in order, compare-and-swap decides.
Result<void> may_ask(RegionId from, const ControlRequest& request) {
  switch (request.kind) {
    case ControlKind::kGet:
    case ControlKind::kList:
    case ControlKind::kWatch:
      return {};
    case ControlKind::kLeaseKeepalive:
      if (request.key == control_keys::region_lease(from)) return {};
      return forbidden("region " + to_string(from) + " may not keep the lease " + request.key);
    case ControlKind::kCompareAndSwap:
      break;
  }
  const bool shard =
      control_keys::parse_id(request.key, control_keys::kShards, "/leader").has_value();
  if (shard || request.key == control_keys::kRunManifest || request.key == control_keys::kRunMode)
    return {};
  return forbidden("no server may change " + request.key);
}

// Judges what another region's server sends.
class RegionRules {
 public:
  explicit RegionRules(RegionId from) : from_(from) {}

  // ---- to a leader, each region for itself
  Result<void> operator()(const Subscribe& m) const { return itself(m.region); }
  Result<void> operator()(const EmptyOffer& m) const { return itself(m.region); }
  Result<void> operator()(const Replicated& m) const { return itself(m.region); }
  Result<void> operator()(const Presence& m) const { return itself(m.region); }
  Result<void> operator()(const Offer& m) const {
    const Result<ContributionHeader> header = ContributionHeader::decode(view(m.header));
    if (!header) return header.error();
    return itself(header->region);
  }

  // ---- from a leader
  Result<void> operator()(const Lead&) const { return {}; }
  Result<void> operator()(const Subscribed&) const { return {}; }
  Result<void> operator()(const Replicate&) const { return {}; }
  Result<void> operator()(const Watermark&) const { return {}; }
  Result<void> operator()(const Install&) const { return {}; }
  Result<void> operator()(const OfferReply&) const { return {}; }
  Result<void> operator()(const Announce& m) const {
    if (m.shard != ShardId())
      return forbidden("rounds are announced by the leader of shard 0 only");
    return {};
  }

  template <class Other>
  Result<void> operator()(const Other& m) const {
    return forbidden("a server may not send " + name(Message(m)));
  }

 private:
  Result<void> itself(RegionId claimed) const {
    if (claimed == from_) return {};
    return forbidden("a message in the name of region " + to_string(claimed) + " from region " +
                     to_string(from_));
  }

  RegionId from_;
};

}  // namespace

WorkerId worker_id(const net::Identity& identity) {
  return WorkerId(checksum(view(identity.region + "/" + identity.name)).value());
}

Result<void> may_converse(const net::Identity& peer, const Standpoint& here) {
  const std::string& region = here.config.regions[here.self.value()];
  if (peer.cluster != here.config.name)
    return forbidden("a certificate of cluster '" + peer.cluster + "'");
  switch (peer.role) {
    case net::Role::kWorker:
      if (peer.region == region) return {};
      return forbidden("workers talk only to their own region's server: this one is of '" + region +
                       "', the certificate of '" + peer.region + "'");
    case net::Role::kServer:
      if (peer.region == region)
        return forbidden("a server of this very region: '" + region + "' has one already");
      for (const std::string& known : here.config.regions) {
        if (peer.region == known) return {};
      }
      return forbidden("cluster.toml knows no region '" + peer.region + "'");
    case net::Role::kOperator:
      break;
  }
  return forbidden("operators use the admin port");
}

Result<void> may_greet(const net::Identity& peer, const wire::Hello& hello) {
  const auto differs = [](std::string_view what, const std::string& said, std::string_view certified) {
    return forbidden("HELLO says " + std::string(what) + " '" + said + "', the certificate '" +
                     std::string(certified) + "': start this process with the files of that " + std::string(what));
  };
  if (hello.cluster != peer.cluster) return differs("cluster", hello.cluster, peer.cluster);
  if (hello.role != net::name(peer.role)) return differs("role", hello.role, net::name(peer.role));
  if (hello.region != peer.region) return differs("region", hello.region, peer.region);
  if (hello.name != peer.name) return differs("name", hello.name, peer.name);
  return {};
}

Result<void> may_send(WorkerId from, const net::Incoming& incoming) {
  const Message* message = std::get_if<Message>(&incoming);
  if (message == nullptr) return forbidden("workers do not reach the control store");
  if (const auto* push = std::get_if<Push>(message)) {
    return push->header.id.worker == from ? Result<void>()
                                          : forbidden("a push in another worker's name");
  }
  if (const auto* pull = std::get_if<Pull>(message)) {
    const bool own = !pull->pending || pull->pending->worker == from;
    return own ? Result<void>() : forbidden("a pull that asks for another worker's push");
  }
  if (std::holds_alternative<ManifestOffer>(*message) || std::holds_alternative<Join>(*message) ||
      std::holds_alternative<Leave>(*message) || std::holds_alternative<Skip>(*message)) {
    return {};
  }
  return forbidden("a worker may not send " + name(incoming));
}

Result<void> may_send(RegionId from, const net::Incoming& incoming, const Standpoint& here) {
  const RegionId control = here.config.control_server().region_id;
  if (const auto* call = std::get_if<wire::ControlCall>(&incoming)) {
    return here.self == control ? may_ask(from, call->request)
                                : forbidden("the control store is not here");
  }
  if (std::holds_alternative<wire::ControlAnswer>(incoming)) {
    return from == control ? Result<void>()
                           : forbidden("only the control host answers for the control store");
  }
  return std::visit(RegionRules(from), std::get<Message>(incoming));
}

}  // namespace godwit::app
