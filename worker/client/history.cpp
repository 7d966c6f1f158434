#include "worker/client/history.h"

#include <limits>

namespace godwit::client {
namespace {

// 64-bit hashes are strings: many readers of JSON keep 53 bits of a number.
template <class Id>
std::string quoted(const Id& id) {
  return '"' + to_string(id) + '"';
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

const char* name(EntryKind kind) {
  switch (kind) {
    case EntryKind::kInitial: return "initial";
    case EntryKind::kRound: return "round";
    case EntryKind::kLate: return "late";
    case EntryKind::kRefused: return "refused";
    case EntryKind::kMode: return "mode";
    case EntryKind::kPromotion: return "promotion";
    case EntryKind::kRestore: return "restore";
  }
  return "unknown";
}

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kApplied: return "applied";
    case Verdict::kRefused: return "refused";
    case Verdict::kDiscarded: return "discarded";
  }
  return "unknown";
}

}  // namespace

Result<void> History::open(const std::string& file) {
  file_.open(file, std::ios::app | std::ios::ate);
  if (!file_) return Error{Errc::kConfig, "cannot append to " + file};
  file_.precision(std::numeric_limits<float>::max_digits10);
  if (file_.tellp() > 0) file_ << '\n';  // ends what an earlier process left torn
  return {};
}

void History::start(const std::string& worker_name, const WorkerSettings& settings) {
  if (!is_open()) return;
  file_ << R"({"event":"start","name":)" << quoted(worker_name) << R"(,"worker":)" << quoted(settings.id)
        << R"(,"incarnation":)" << settings.incarnation.value() << R"(,"manifest":)" << quoted(settings.manifest) << '}'
        << std::endl;
}

void History::sent(const Message& message) {
  const auto* push = std::get_if<Push>(&message);
  if (!is_open() || push == nullptr) return;
  const PushHeader& header = push->header;
  file_ << R"({"event":"push","shard":)" << header.shard.value() << R"(,"sequence":)" << header.id.sequence.value()
        << R"(,"kind":)" << (header.kind == PushKind::kInitial ? R"("initial")" : R"("pseudo_gradient")")
        << R"(,"base":)" << header.base_version.value() << R"(,"round":)" << header.round.value() << R"(,"steps":)"
        << header.steps << R"(,"tokens":)" << header.tokens << R"(,"weight":)" << header.weight << '}' << std::endl;
}

void History::received(const Message& message, const WorkerCore& core) {
  if (!is_open()) return;
  if (const auto* reply = std::get_if<PushReply>(&message)) answered(*reply);
  const auto* pull = std::get_if<PullReply>(&message);
  if (pull != nullptr && pull->shard.value() < core.shard_count()) pulled(*pull, core.shard(pull->shard));
}

void History::end(bool drained) {
  if (is_open()) file_ << R"({"event":"end","drained":)" << (drained ? "true" : "false") << '}' << std::endl;
}

void History::answered(const PushReply& reply) {
  if (reply.outcome == PushOutcome::kOverloaded) return;  // no answer yet: the push is sent again
  const bool refused = reply.outcome == PushOutcome::kRefused;
  file_ << R"({"event":)" << (refused ? R"("refused")" : R"("acknowledged")") << R"(,"shard":)" << reply.shard.value()
        << R"(,"incarnation":)" << reply.id.incarnation.value() << R"(,"sequence":)" << reply.id.sequence.value();
  if (refused) file_ << R"(,"why":)" << quoted(reply.detail);
  file_ << '}' << std::endl;
}

void History::pulled(const PullReply& reply, const ShardView& view) {
  const bool merged = view.head_hash() != held_[reply.shard];
  held_[reply.shard] = view.head_hash();
  for (const Entry& entry : reply.entries) seen("entry", entry.header, entry.hash, merged);
  if (!reply.snapshot) return;
  if (const auto header = EntryHeader::decode(godwit::view(reply.snapshot->entry))) {
    seen("snapshot", *header, entry_hash(godwit::view(reply.snapshot->entry)), merged);
  }
  if (!reply.named) return;
  file_ << R"({"event":"named","shard":)" << reply.shard.value() << R"(,"incarnation":)"
        << reply.named->id.incarnation.value() << R"(,"sequence":)" << reply.named->id.sequence.value()
        << R"(,"version":)" << reply.named->version.value() << R"(,"verdict":")" << name(reply.named->verdict) << "\"}"
        << std::endl;
}

void History::seen(const char* event, const EntryHeader& header, Hash hash, bool merged) {
  file_ << R"({"event":")" << event << R"(","shard":)" << header.shard.value() << R"(,"version":)"
        << header.version.value() << R"(,"epoch":)" << header.epoch.value() << R"(,"kind":")" << name(header.kind)
        << R"(","hash":)" << quoted(hash) << R"(,"previous":)" << quoted(header.previous) << R"(,"merged":)"
        << (merged ? "true" : "false") << R"(,"pushes":[)";
  const char* separator = "";
  for (const Named& named : header.contributions) {
    for (const Member& member : named.members) {
      const Verdict verdict = named.verdict == Verdict::kApplied ? member.verdict : named.verdict;
      file_ << separator << R"({"worker":)" << quoted(member.id.worker) << R"(,"incarnation":)"
            << member.id.incarnation.value() << R"(,"sequence":)" << member.id.sequence.value() << R"(,"verdict":")"
            << name(verdict) << "\"}";
      separator = ",";
    }
  }
  file_ << "]}" << std::endl;
}

}  // namespace godwit::client
