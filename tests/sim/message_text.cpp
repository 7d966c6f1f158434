#include "tests/sim/message_text.h"

#include "server/core/entry_log.h"

namespace godwit::sim {
namespace {

using godwit::to_string;

template <class Id>
std::string number(const char* name, Id id) {
  return std::string(" ") + name + " " + to_string(id);
}

struct Describe {
  std::string operator()(const ManifestOffer&) const { return "manifest offer"; }
  std::string operator()(const Join& m) const { return "join, weight " + std::to_string(m.weight); }
  std::string operator()(const Leave&) const { return "leave"; }
  std::string operator()(const Push& m) const {
    return "push" + number("shard", m.header.shard) + " " + sim::to_string(m.header.id) +
           number("round", m.header.round) + number("base", m.header.base_version) + " steps " +
           std::to_string(m.header.steps);
  }
  std::string operator()(const Skip& m) const { return "skip" + number("shard", m.shard) + number("round", m.round); }
  std::string operator()(const Pull& m) const { return "pull" + number("shard", m.shard) + number("have", m.have); }
  std::string operator()(const ManifestReply&) const { return "manifest reply"; }
  std::string operator()(const PushReply& m) const {
    const char* outcomes[] = {"", "acknowledged", "overloaded", "refused"};
    return std::string("push reply") + number("shard", m.shard) + " " + sim::to_string(m.id) + " " +
           outcomes[static_cast<int>(m.outcome)] + " " + m.detail;
  }
  std::string operator()(const PullReply& m) const {
    if (m.outcome == PullOutcome::kNotModified) return "pull reply" + number("shard", m.shard) + " not modified";
    if (m.outcome == PullOutcome::kSnapshot) {
      return "pull reply" + number("shard", m.shard) + " snapshot" +
             (m.named ? number("naming at", m.named->version) : "");
    }
    return "pull reply" + number("shard", m.shard) + number("entries", m.entries.front().header.version) +
           number("to", m.entries.back().header.version);
  }
  std::string operator()(const Announce& m) const { return "announce" + number("round", m.round); }
  std::string operator()(const Stop&) const { return "stop"; }
  std::string operator()(const Subscribe& m) const {
    return "subscribe" + number("shard", m.shard) + number("have", m.have) + number("epoch", m.epoch);
  }
  std::string operator()(const Offer& m) const {
    const Result<ContributionHeader> header = ContributionHeader::decode(view(m.header));
    if (!header) return "offer, malformed";
    std::string line = "offer" + number("shard", header->shard) + number("sequence", header->sequence) +
                       number("round", header->round) + " of";
    for (const Member& member : header->members) line += " " + sim::to_string(member.id);
    return line;
  }
  std::string operator()(const EmptyOffer& m) const {
    return "nothing" + number("shard", m.shard) + number("round", m.round);
  }
  std::string operator()(const Replicated& m) const {
    return "replicated" + number("shard", m.shard) + number("version", m.version);
  }
  std::string operator()(const Presence& m) const {
    return "presence" + number("shard", m.shard) + " workers " + std::to_string(m.workers);
  }
  std::string operator()(const Lead& m) const {
    return "lead" + number("shard", m.shard) + number("epoch", m.epoch);
  }
  std::string operator()(const Subscribed& m) const {
    return "subscribed" + number("shard", m.shard) + number("epoch", m.epoch) + number("head", m.head);
  }
  std::string operator()(const Replicate& m) const {
    return "replicate" + number("shard", m.shard) + number("version", m.entry.header.version) +
           number("round", m.entry.header.round) + number("watermark", m.watermark);
  }
  std::string operator()(const Watermark& m) const {
    return "watermark" + number("shard", m.shard) + number("", m.watermark);
  }
  std::string operator()(const Install& m) const { return "install" + number("shard", m.shard); }
  std::string operator()(const OfferReply& m) const {
    const char* outcomes[] = {"", "accepted", "duplicate", "expect", "wrong epoch"};
    return std::string("offer reply") + number("shard", m.shard) + number("sequence", m.sequence) + " " +
           outcomes[static_cast<int>(m.outcome)];
  }
};

std::size_t bytes_of(const std::vector<SharedBytes>& parts) {
  std::size_t bytes = 0;
  for (const SharedBytes& part : parts) bytes += part->size();
  return bytes;
}

}  // namespace

std::string to_string(const PushId& id) {
  return "w" + to_string(id.worker) + "." + to_string(id.incarnation) + "#" + to_string(id.sequence);
}

std::string describe(const Message& message) { return std::visit(Describe(), message); }

std::size_t message_bytes(const Message& message) {
  std::size_t bytes = 64;
  if (const auto* push = std::get_if<Push>(&message)) bytes += bytes_of(push->payloads);
  if (const auto* offer = std::get_if<Offer>(&message)) bytes += bytes_of(offer->payloads) + offer->header->size();
  if (const auto* replicate = std::get_if<Replicate>(&message)) bytes += entry_bytes(replicate->entry);
  if (const auto* install = std::get_if<Install>(&message)) bytes += bytes_of(install->snapshot.blocks);
  if (const auto* reply = std::get_if<PullReply>(&message)) {
    for (const Entry& entry : reply->entries) bytes += entry_bytes(entry);
    if (reply->snapshot) bytes += bytes_of(reply->snapshot->blocks);
  }
  return bytes;
}

}  // namespace godwit::sim
