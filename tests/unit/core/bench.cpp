#include "tests/unit/core/bench.h"

#include <algorithm>

#include "shared/codec/codec.h"

namespace godwit::test {

Manifest small_manifest() { return {8, 1, {{"weight", {12}, false}, {"norm", {4}, true}}}; }

RunSettings small_settings() {
  RunSettings settings;
  settings.contribution_codec = settings.update_codec = {CodecId::kFp32, false};
  settings.grace = milliseconds(500);
  settings.sync_grace = seconds(5);
  settings.lease = seconds(2);
  settings.ack_max_delay = milliseconds(100);
  settings.nesterov_steps_min = 1000;
  return settings;
}

Push make_push(const PushParts& parts, const std::vector<float>& d) {
  Push push;
  PushHeader& header = push.header;
  header.id = {WorkerId(parts.worker), Incarnation(parts.incarnation), SequenceNo(parts.sequence)};
  header.kind = parts.kind;
  header.round = Round(parts.round);
  header.base_version = parts.base;
  header.base_weight = parts.base_weight;
  header.restore_epoch = RestoreEpoch(parts.restore_epoch);
  header.steps = parts.steps;
  header.tokens = static_cast<std::uint64_t>(parts.weight) * parts.steps;
  header.weight = parts.weight;
  header.step_seconds = 0.1F;
  header.manifest = small_manifest().hash();
  header.codec = {CodecId::kFp32, false};
  const Layout layout(small_manifest());
  for (const Block& block : layout.shards[0].blocks) {
    push.payloads.push_back(
        share(encode_block(header.codec, std::span(d).subspan(block.offset, block.count))));
  }
  return push;
}

std::vector<float> filled(float first) {
  std::vector<float> values(16);
  for (float& value : values) value = first++;
  return values;
}

Bench::Bench(RunSettings settings, std::uint32_t regions) : settings_(settings), nodes_(regions) {
  settings_.regions = regions;
  for (std::uint32_t region = 0; region < regions; ++region) {
    const Result<void> opened = open(region);
    GODWIT_CHECK(opened.has_value(), "an empty store opens");
  }
}

Result<void> Bench::open(std::uint32_t region) {
  const ControlItem item = held();
  HeldRecord known{{}, item.revision};
  if (item.revision != Revision()) known.record = *ShardRecord::decode(item.value);
  bool leads = false;
  if (const auto claim = claim_at_start(known, RegionId(0), RegionId(region), Incarnation(7), false); claim && *claim) {
    known = {**claim, control(swap_record(ShardId(), **claim, known.revision)).items.front().revision};
    leads = known.record.leader == RegionId(region);
  }
  RegionCore::Place place{RegionId(region), Incarnation(7), Incarnation(7), {known}, {leads}};
  Result<std::unique_ptr<RegionCore>> opened =
      RegionCore::open(settings_, *nodes_[region].store, manifest_, place, now_);
  if (!opened) return opened.error();
  nodes_[region].core = std::move(*opened);
  perform(region, core(region).start(now_));
  for (std::uint32_t peer = 0; peer < nodes_.size(); ++peer) {
    if (peer != region && nodes_[peer].core) heal(region, peer);
  }
  return {};
}

void Bench::close(std::uint32_t region) {
  for (std::uint32_t peer = 0; peer < nodes_.size(); ++peer) {
    if (peer != region) cut(region, peer);
  }
  nodes_[region].core.reset();
}

void Bench::cut(std::uint32_t a, std::uint32_t b) {
  cut_[std::minmax(a, b)] = true;
  std::erase_if(transit_,
                [&](const Transit& t) { return std::minmax(t.from, t.to) == std::minmax(a, b); });
  if (nodes_[a].core) perform(a, core(a).on_region_disconnected(RegionId(b), now_));
  if (nodes_[b].core) perform(b, core(b).on_region_disconnected(RegionId(a), now_));
}

void Bench::heal(std::uint32_t a, std::uint32_t b) {
  cut_[std::minmax(a, b)] = false;
  perform(a, core(a).on_region_connected(RegionId(b), now_));
  perform(b, core(b).on_region_connected(RegionId(a), now_));
}

bool Bench::connected(std::uint32_t a, std::uint32_t b) const {
  const auto found = cut_.find(std::minmax(a, b));
  return nodes_[a].core && nodes_[b].core && (found == cut_.end() || !found->second);
}

ControlItem Bench::held() const {
  ControlRequest get;
  get.key = control_keys::shard_leader(ShardId());
  const ControlReply reply = control_.handle(get, now_).reply;
  return reply.items.empty() ? ControlItem{get.key, {}, {}} : reply.items.front();
}

void Bench::wish(std::uint32_t region) {
  control(swap_record(ShardId(), record().led_by(RegionId(region)), held().revision));
  tell(region);
}

void Bench::tell(std::uint32_t region) {
  ControlRequest list;
  list.kind = ControlKind::kList;
  for (const ControlItem& item : control(list).items) perform(region, core(region).on_control(item, now_));
}

void Bench::perform(std::uint32_t region, Effects effects) {
  for (const Batch& batch : effects.writes) {
    const Result<void> written = nodes_[region].store->write(batch);
    GODWIT_CHECK(written.has_value(), "memory does not fail");
  }
  notices_.insert(notices_.end(), effects.notices.begin(), effects.notices.end());
  for (Send& send : effects.sends) {
    if (std::holds_alternative<WorkerId>(send.to)) {
      replies_.push_back(std::move(send.message));
      continue;
    }
    sent_.push_back(send.message);
    transit_.push_back({region, std::get<RegionId>(send.to).value(), std::move(send.message)});
  }
  for (const ControlRequest& request : effects.controls) {
    for (const ControlItem& item : control(request).items) perform(region, core(region).on_control(item, now_));
  }
  settle();
}

void Bench::settle() {
  if (std::exchange(settling_, true)) return;
  for (std::size_t at = 0; at < transit_.size();) {
    if (hold_offers_ && std::holds_alternative<Offer>(transit_[at].message)) {
      ++at;
      continue;
    }
    const Transit next = std::move(transit_[at]);
    transit_.erase(transit_.begin() + static_cast<std::ptrdiff_t>(at));
    if (next.from != next.to && !connected(next.from, next.to)) continue;
    if (const auto* replicate = std::get_if<Replicate>(&next.message)) {
      perform(next.from, core(next.from).on_drained(RegionId(next.to), ShardId(),
                                                    replicate->entry.header.version, now_));
    } else if (const auto* install = std::get_if<Install>(&next.message);
               install && !view(install->snapshot.entry).empty()) {
      const Version version = EntryHeader::decode(view(install->snapshot.entry))->version;
      perform(next.from, core(next.from).on_drained(RegionId(next.to), ShardId(), version, now_));
    }
    perform(next.to, core(next.to).on_message(RegionId(next.from), next.message, now_));
    at = 0;
  }
  settling_ = false;
}

void Bench::from_worker(std::uint32_t region, const Message& message, std::uint64_t worker) {
  perform(region, core(region).on_message(WorkerId(worker), message, now_));
}

void Bench::push(std::uint32_t region, const PushParts& parts, const std::vector<float>& d) {
  from_worker(region, make_push(parts, d), parts.worker);
}

void Bench::begin(const std::vector<float>& model) {
  std::vector<float> d = model;
  for (float& value : d) value = -value;
  PushParts parts;
  parts.worker = 99;
  parts.kind = PushKind::kInitial;
  parts.round = 0;
  parts.weight = 1;
  push(0, parts, d);
}

void Bench::set_mode(Mode mode, std::uint64_t epoch, std::uint32_t sync_steps) {
  set_item(control_keys::kRunMode, ModeSetting{mode, ModeEpoch(epoch), sync_steps}.encode());
}

void Bench::set_item(std::string_view key, const Bytes& value) {
  revision_ = revision_.next();
  const ControlItem item{std::string(key), value, revision_};
  for (std::uint32_t region = 0; region < nodes_.size(); ++region) {
    if (nodes_[region].core) perform(region, core(region).on_control(item, now_));
  }
}

void Bench::deliver(std::uint32_t from, std::uint32_t to, const Message& message) {
  perform(to, core(to).on_message(RegionId(from), message, now_));
}

void Bench::pass(Duration duration) {
  now_ += duration;
  for (std::uint32_t region = 0; region < nodes_.size(); ++region) {
    if (nodes_[region].core) perform(region, core(region).on_tick(now_));
  }
  settle();
}

std::size_t Bench::notices(Notice::Kind kind) const {
  return static_cast<std::size_t>(std::count_if(
      notices_.begin(), notices_.end(), [kind](const Notice& n) { return n.kind == kind; }));
}

}  // namespace godwit::test
