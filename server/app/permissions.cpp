#include "server/app/permissions.h"

#include <array>

#include "shared/base/checksum.h"

namespace godwit::app {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Message>> kMessageNames = {
    "ManifestOffer", "Join",     "Leave",      "Push",     "Skip",       "Pull",      "ManifestReply",
    "PushReply",     "PullReply", "Announce",  "Stop",     "Subscribe",  "Offer",     "EmptyOffer",
    "Replicated",    "Presence", "Subscribed", "Replicate", "Watermark", "Install",   "OfferReply"};

std::string name(const net::Incoming& incoming) {
  if (std::holds_alternative<wire::ControlCall>(incoming)) return "ControlRequest";
  if (std::holds_alternative<wire::ControlAnswer>(incoming)) return "ControlReply";
  return std::string(kMessageNames[std::get<Message>(incoming).index()]);
}

Error forbidden(std::string why) { return Error{Errc::kForbidden, std::move(why)}; }

// Judges what another region's server sends.
class RegionRules {
 public:
  RegionRules(RegionId from, const Standpoint& here) : from_(from), here_(here) {}

  // ---- to a leader, each region for itself
  Result<void> operator()(const Subscribe& m) const { return to_leader(m.shard, m.region); }
  Result<void> operator()(const EmptyOffer& m) const { return to_leader(m.shard, m.region); }
  Result<void> operator()(const Replicated& m) const { return to_leader(m.shard, m.region); }
  Result<void> operator()(const Presence& m) const { return to_leader(m.shard, m.region); }
  Result<void> operator()(const Offer& m) const {
    const Result<ContributionHeader> header = ContributionHeader::decode(view(m.header));
    if (!header) return header.error();
    return to_leader(header->shard, header->region);
  }

  // ---- from the leader of the shard
  Result<void> operator()(const Subscribed& m) const { return from_leader(m.shard); }
  Result<void> operator()(const Replicate& m) const { return from_leader(m.shard); }
  Result<void> operator()(const Watermark& m) const { return from_leader(m.shard); }
  Result<void> operator()(const Install& m) const { return from_leader(m.shard); }
  Result<void> operator()(const OfferReply& m) const { return from_leader(m.shard); }
  Result<void> operator()(const Announce& m) const {
    if (m.shard != ShardId()) return forbidden("rounds are announced by the leader of shard 0 only");
    return from_leader(m.shard);
  }

  template <class Other>
  Result<void> operator()(const Other& m) const {
    return forbidden("a server may not send " + name(Message(m)));
  }

 private:
  Result<void> to_leader(ShardId shard, RegionId claimed) const {
    if (claimed != from_) {
      return forbidden("a message in the name of region " + to_string(claimed) + " from region " + to_string(from_));
    }
    if (!here_.leads(shard)) {
      return forbidden("shard " + to_string(shard) + " is not led here: is cluster.toml the same everywhere?");
    }
    return {};
  }
  Result<void> from_leader(ShardId shard) const {
    if (here_.is_leader(from_, shard)) return {};
    return forbidden("region " + to_string(from_) + " does not lead shard " + to_string(shard) +
                     ": is cluster.toml the same everywhere?");
  }

  RegionId from_;
  const Standpoint& here_;
};

}  // namespace

WorkerId worker_id(const net::Identity& identity) {
  return WorkerId(checksum(view(identity.region + "/" + identity.name)).value());
}

Result<void> may_converse(const net::Identity& peer, const Standpoint& here) {
  const std::string& region = here.config.regions[here.self.value()];
  if (peer.cluster != here.config.name) return forbidden("a certificate of cluster '" + peer.cluster + "'");
  switch (peer.role) {
    case net::Role::kWorker:
      if (peer.region == region) return {};
      return forbidden("workers talk only to their own region's server: this one is of '" + region +
                       "', the certificate of '" + peer.region + "'");
    case net::Role::kServer:
      if (peer.region == region) return forbidden("a server of this very region: '" + region + "' has one already");
      for (const std::string& known : here.config.regions) {
        if (peer.region == known) return {};
      }
      return forbidden("cluster.toml knows no region '" + peer.region + "'");
    case net::Role::kOperator: break;
  }
  return forbidden("operators use the admin port");
}

Result<void> may_send(WorkerId from, const net::Incoming& incoming) {
  const Message* message = std::get_if<Message>(&incoming);
  if (message == nullptr) return forbidden("workers do not reach the control store");
  if (const auto* push = std::get_if<Push>(message)) {
    return push->header.id.worker == from ? Result<void>() : forbidden("a push in another worker's name");
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
  if (std::holds_alternative<wire::ControlCall>(incoming)) {
    return here.self == control ? Result<void>() : forbidden("the control store is not here");
  }
  if (std::holds_alternative<wire::ControlAnswer>(incoming)) {
    return from == control ? Result<void>() : forbidden("only the control host answers for the control store");
  }
  return std::visit(RegionRules(from, here), std::get<Message>(incoming));
}

}  // namespace godwit::app
