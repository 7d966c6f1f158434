#include "server/core/leader.h"

#include <algorithm>

#include "server/core/recovery.h"
#include "shared/base/check.h"
#include "shared/base/checksum.h"
#include "shared/codec/codec.h"

namespace godwit {

Leader::Leader(const RunSettings& settings, ShardState& state, EntryLog& log, const StoreReader& store, Place place,
               TimePoint now)
    : settings_(settings),
      state_(state),
      log_(log),
      store_(store),
      place_(place),
      replication_(settings, state, log, store, place.self, place.epoch, place.watermark, now),
      announcer_(settings, state.shard(), place.epoch),
      outer_rule_(settings, place.last_outer),
      mode_{state.head().mode, state.head().mode_epoch, state.head().sync_steps} {
  GODWIT_REQUIRE(state.keeps_velocity(), "a leader's state keeps the momentum");
  // Who was in the last round is taken as live for one lease: a restarted leader does not commit without
  // regions that are only about to reconnect.
  for (std::uint32_t id = 0; id < settings.regions; ++id) regions_[RegionId(id)];
  for (const LiveRegion& member : state.head().live) {
    Region& region = regions_[member.region];
    region.workers = 1;
    region.weight = member.weight;
    region.seen = now;
  }
}

void Leader::begin(TimePoint now, Effects& effects) {
  if (state_.version() != Version() && state_.head().epoch < place_.since) commit_promotion(now, effects);
  replication_.begin(effects);
  replication_.set_in_sync(place_.in_sync, {}, effects);
  advance(now, effects);
}

void Leader::on_subscribe(const Subscribe& subscribe, TimePoint now, Effects& effects) {
  replication_.on_subscribe(subscribe, effects);
  advance(now, effects);
}

void Leader::on_offer(const Offer& offer, TimePoint now, Effects& effects) {
  Result<ContributionHeader> header = ContributionHeader::decode(view(offer.header));
  if (!header) return effects.notice(Notice::Kind::kRefused, state_.shard(), header.error().to_string());
  const RegionId from = header->region;
  OfferReply reply{state_.shard(), place_.epoch, header->sequence, OfferOutcome::kAccepted, {}, {}};
  if (offer.epoch != place_.epoch) {
    reply.outcome = OfferOutcome::kWrongEpoch;
    return effects.send(from, reply);
  }
  const auto producer = state_.producers().find({from, header->incarnation});
  const records::Producer last = producer == state_.producers().end() ? records::Producer{} : producer->second;
  if (header->sequence <= last.last) {
    reply.outcome = OfferOutcome::kDuplicate;
    reply.included = last.version;
    effects.notice(Notice::Kind::kDuplicate, state_.shard(), "contribution " + to_string(header->sequence));
    return effects.send(from, reply);
  }
  Region& region = regions_[from];
  if (header->sequence != last.last.next()) {
    reply.outcome = OfferOutcome::kExpect;
    reply.expected = last.last.next();
    return effects.send(from, reply);
  }
  if (!region.pending || region.pending->header.incarnation != header->incarnation) {
    first_offer_.try_emplace(header->round, now);
    region.pending = Contribution{std::move(*header), offer.payloads};
    const Result<void> valid = validate(*region.pending);
    region.poison = !valid;
    if (!valid) {
      effects.notice(Notice::Kind::kRefused, state_.shard(), valid.error().to_string());
      region.pending->payloads.clear();
    }
  }
  effects.send(from, reply);
  advance(now, effects);
}

Result<void> Leader::validate(const Contribution& contribution) const {
  const ContributionHeader& header = contribution.header;
  if (header.blocks.size() != contribution.payloads.size()) return Error{Errc::kMalformed, "payloads missing"};
  if (header.blocks.empty()) return {};
  if (header.blocks.size() != state_.block_count()) return Error{Errc::kInvalid, "wrong number of blocks"};
  for (std::uint32_t block = 0; block < state_.block_count(); ++block) {
    const ByteView payload = view(contribution.payloads[block]);
    if (payload.size() != header.blocks[block].bytes || checksum(payload) != header.blocks[block].checksum) {
      return Error{Errc::kCorrupt, "block " + std::to_string(block) + " fails its checksum"};
    }
    std::vector<float> sum(state_.values(block).size());
    if (Result<void> summed = sum_contributions(std::span(&contribution, 1), block, sum); !summed) return summed;
  }
  return {};
}

void Leader::on_empty_offer(const EmptyOffer& offer, TimePoint now, Effects& effects) {
  if (offer.epoch != place_.epoch) return;  // a hint: it is resent with the next announcement
  Round& through = regions_[offer.region].empty_through;
  through = std::max(through, offer.round);
  advance(now, effects);
}

void Leader::on_replicated(const Replicated& replicated, Effects& effects) {
  if (replicated.epoch == place_.epoch) replication_.on_replicated(replicated, effects);
}

void Leader::on_presence(const Presence& presence, TimePoint now, Effects& effects) {
  Region& region = regions_[presence.region];
  region.workers = presence.workers;
  region.weight = presence.weight;
  region.step_seconds = presence.step_seconds;
  region.seen = now;
  advance(now, effects);
}

void Leader::on_drained(RegionId region, Version version, TimePoint now, Effects& effects) {
  replication_.on_drained(region, version);
  advance(now, effects);
}

void Leader::on_disconnected(RegionId region, TimePoint now, Effects& effects) {
  replication_.on_disconnected(region, now);
  advance(now, effects);
}

void Leader::set_mode(const ModeSetting& setting, TimePoint now, Effects& effects) {
  if (setting.mode_epoch <= mode_.mode_epoch) return;
  mode_ = setting;
  for (const auto& [id, region] : regions_) {
    if (region.pending) flush_through_ = std::max(flush_through_, region.pending->header.round);
  }
  advance(now, effects);
}

void Leader::restore(RestoreEpoch epoch, records::Pin pin, TimePoint now, Effects& effects) {
  if (epoch <= restore_.epoch) return;
  restore_ = {epoch, pin, now, ""};
  advance(now, effects);
}

void Leader::on_tick(TimePoint now, Effects& effects) { advance(now, effects); }

bool Leader::live(const Region& region, TimePoint now) const {
  return region.workers > 0 && now < region.seen + settings_.lease;
}

std::map<RegionId, RegionOffer> Leader::offers(TimePoint now) const {
  std::map<RegionId, RegionOffer> offers;
  for (const auto& [id, region] : regions_) {
    RegionOffer& offer = offers[id];
    offer.live = live(region, now);
    offer.empty_through = region.empty_through;
    if (region.pending) offer.pending = region.pending->header.round;
  }
  return offers;
}

void Leader::advance(TimePoint now, Effects& effects) {
  replication_.pump(effects);
  if (replication_.drained()) {
    while (commit_next(now, effects)) {
      replication_.pump(effects);
      if (!replication_.drained()) break;
    }
  }
  announce(now, effects);
}

bool Leader::commit_next(TimePoint now, Effects& effects) {
  // A fresh run: the first initial push becomes version 1; refusals never wait either. What was trained on a
  // model that went with an older leader waits until that model is offered again.
  for (const auto& [id, region] : regions_) {
    if (!region.pending) continue;
    if (region.poison || region.pending->header.kind == PushKind::kInitial || outdated(*region.pending)) {
      commit_alone(id, now, effects);
      return true;
    }
  }
  if (state_.version() == Version()) return false;
  if (restore_.epoch > state_.head().restore_epoch && commit_restore(now, effects)) return true;
  if (mode_.mode_epoch > state_.head().mode_epoch) {
    why_ = "the mode changes: open rounds commit with what is there";
    if (const std::optional<Round> open = open_round()) {
      commit_round(*open, now, effects);
    } else {
      commit_mode(now, effects);
    }
    return true;
  }
  RoundQuestion question{offers(now), state_.head().round, first_offer_, settings_.grace, now};
  if (state_.head().mode == Mode::kSync) question.grace = settings_.sync_grace;
  const RoundDecision decision = decide_round(question);
  why_ = decision.why;
  if (decision.late) {
    commit_alone(*decision.late, now, effects);
    return true;
  }
  if (decision.commit) {
    commit_round(*decision.commit, now, effects);
    return true;
  }
  if (decision.wait_until) {
    effects.wake_at(*decision.wait_until);
    // A region that is waited for may lose its lease before the grace is over.
    for (const auto& [id, region] : regions_) {
      if (live(region, now)) effects.wake_at(region.seen + settings_.lease);
    }
  }
  return false;
}

std::optional<Round> Leader::open_round() const {
  std::optional<Round> open;
  if (state_.head().mode != Mode::kSync) return open;
  for (const auto& [id, region] : regions_) {
    if (!region.pending) continue;
    const Round round = region.pending->header.round;
    if (round > state_.head().round && round <= flush_through_) open = open ? std::min(*open, round) : round;
  }
  return open;
}

EntryHeader Leader::next_header(EntryKind kind, TimePoint now) const {
  EntryHeader header;
  const EntryHeader& head = state_.head();
  header.shard = state_.shard();
  header.version = head.version.next();
  header.epoch = place_.epoch;
  header.leader = place_.self;
  header.previous = state_.head_hash();
  header.kind = kind;
  header.round = head.round;
  header.mode = head.mode;
  header.mode_epoch = head.mode_epoch;
  header.sync_steps = head.sync_steps;
  header.restore_epoch = head.restore_epoch;
  header.total_weight = head.total_weight;
  header.total_tokens = head.total_tokens;
  for (const auto& [id, region] : regions_) {
    if (!live(region, now)) continue;
    header.live.push_back({id, region.weight});
    header.round_weight += region.weight;
  }
  if (header.round_weight <= 0) header.round_weight = head.round_weight;
  return header;
}

Named Leader::name_contribution(const Contribution& contribution, double round_weight) const {
  const ContributionHeader& from = contribution.header;
  Named named{from.region, from.incarnation, from.sequence, from.round, Verdict::kApplied, 0, 1, from.members};
  const double since = state_.head().total_weight - from.base_weight;
  named.staleness_rounds = round_weight > 0 ? std::max(0.0, since / round_weight) : 0;
  return named;
}

void Leader::commit_round(Round round, TimePoint now, Effects& effects) {
  EntryHeader header = next_header(EntryKind::kRound, now);
  header.round = round;
  std::vector<Contribution> contributions;
  std::deque<std::uint32_t> steps;
  double weight = 0;
  for (auto& [id, region] : regions_) {  // map order: the summation order
    if (!region.pending || region.pending->header.round != round) continue;
    weight += region.pending->header.weight();
    header.total_tokens += region.pending->header.tokens();
    header.contributions.push_back(name_contribution(*region.pending, header.round_weight));
    for (const Member& member : region.pending->header.members) steps.push_back(member.steps);
    contributions.push_back(std::move(*region.pending));
    region.pending.reset();
  }
  header.total_weight += weight;
  if (weight > 0) {
    header.inverse_weight = static_cast<float>(1.0 / weight);
    outer_rule_.choose(header, median(steps));
  }
  first_offer_.erase(first_offer_.begin(), first_offer_.upper_bound(round));
  commit(std::move(header), std::move(contributions), effects);
}

void Leader::commit_alone(RegionId id, TimePoint now, Effects& effects) {
  Region& region = regions_[id];
  Contribution contribution = std::move(*region.pending);
  region.pending.reset();
  const bool initial = contribution.header.kind == PushKind::kInitial;
  const bool discarded = !initial && outdated(contribution);
  const bool refused =
      std::exchange(region.poison, false) || discarded || initial != (state_.version() == Version());
  EntryHeader header = next_header(
      refused ? EntryKind::kRefused : initial ? EntryKind::kInitial : EntryKind::kLate, now);
  Named named = name_contribution(contribution, header.round_weight);
  const double weight = contribution.header.weight();
  if (refused) {
    named.verdict = discarded ? Verdict::kDiscarded : Verdict::kRefused;
    region.empty_through = std::max(region.empty_through, named.round);  // its round need not wait for more
    contribution.payloads.clear();
    contribution.header.blocks.clear();
  } else if (weight > 0) {
    header.outer = Outer::kSgd;
    header.learning_rate = initial ? 1.0F : settings_.sgd_learning_rate;
    if (!initial) named.factor = staleness_factor(named.staleness_rounds);
    const double divisor = initial || header.round_weight <= 0 ? weight : header.round_weight;
    header.inverse_weight = static_cast<float>(named.factor / divisor);
    if (!initial) header.total_weight += weight;
    if (!initial) header.total_tokens += contribution.header.tokens();
    if (!initial) effects.notice(Notice::Kind::kLate, state_.shard(), "round " + to_string(named.round), named.factor);
  }
  header.contributions.push_back(std::move(named));
  std::vector<Contribution> contributions;
  contributions.push_back(std::move(contribution));
  commit(std::move(header), std::move(contributions), effects);
}

void Leader::commit_mode(TimePoint now, Effects& effects) {
  EntryHeader header = next_header(EntryKind::kMode, now);
  header.mode = mode_.mode;
  header.mode_epoch = mode_.mode_epoch;
  header.sync_steps = mode_.sync_steps;
  outer_rule_.forget();
  effects.notice(Notice::Kind::kModeChanged, state_.shard(), mode_.mode == Mode::kSync ? "sync" : "async");
  commit(std::move(header), {}, effects);
}

bool Leader::outdated(const Contribution& contribution) const {
  return contribution.header.restore_epoch < state_.head().restore_epoch;
}

// P := what it was, whole and exact: the entry needs nothing that a replica may no longer have. The token clock goes
// back with it, so that schedules do; the clocks of staleness go on.
bool Leader::commit_restore(TimePoint now, Effects& effects) {
  if (now < restore_.retry_at) return effects.wake_at(restore_.retry_at), false;
  Result<ShardState> past = rebuild(store_, state_.shard(), state_.layout(), restore_.pin.version);
  if (past && past->head_hash() != restore_.pin.entry) past = Error{Errc::kCorrupt, "another log"};
  if (!past) {
    restore_.obstacle = "a checkpoint cannot be restored: " + past.error().context +
                        "; let a region lead that keeps it (godwit checkpoint show, godwit promote)";
    effects.notice(Notice::Kind::kRefused, state_.shard(), restore_.obstacle);
    restore_.retry_at = now + settings_.lease;
    return effects.wake_at(restore_.retry_at), false;
  }
  EntryHeader header = next_header(EntryKind::kRestore, now);
  header.restore_epoch = restore_.epoch;
  header.zero_velocity = true;
  header.total_tokens = past->head().total_tokens;
  outer_rule_.forget();
  std::vector<SharedBytes> payloads;
  for (std::uint32_t block = 0; block < state_.block_count(); ++block) {
    const CodecSpec codec = exact_codec(settings_.update_codec);
    Bytes values = encode_block(codec, past->values(block));
    const Result<void> applied = state_.apply_block(header.kind, block, codec, values);
    GODWIT_CHECK(applied.has_value(), "what was just encoded decodes");
    header.blocks.push_back(
        {codec, static_cast<std::uint32_t>(values.size()), checksum(values), state_.block_state(block)});
    payloads.push_back(share(std::move(values)));
  }
  restore_.obstacle.clear();
  why_ = "version " + to_string(restore_.pin.version) + " is restored";
  effects.notice(Notice::Kind::kRestored, state_.shard(), why_);
  append(std::move(header), std::move(payloads), {}, effects);
  return true;
}

// The target is P and the moments are zero: what the leader before had in its buffer is gone with it.
void Leader::commit_promotion(TimePoint now, Effects& effects) {
  EntryHeader header = next_header(EntryKind::kPromotion, now);
  header.zero_velocity = true;
  outer_rule_.forget();
  why_ = "region " + to_string(place_.self) + " leads from here on";
  effects.notice(Notice::Kind::kPromoted, state_.shard(), why_);
  commit(std::move(header), {}, effects);
}

CodecSpec Leader::update_codec(const EntryHeader& header, std::uint32_t block) const {
  const bool exact = header.kind == EntryKind::kInitial || state_.layout().blocks[block].exact;
  return exact ? exact_codec(settings_.update_codec) : settings_.update_codec;
}

void Leader::commit(EntryHeader header, std::vector<Contribution> contributions, Effects& effects) {
  const bool changes = std::any_of(contributions.begin(), contributions.end(),
                                   [](const Contribution& item) { return !item.payloads.empty(); });
  std::vector<SharedBytes> payloads;
  for (std::uint32_t block = 0; changes && block < state_.block_count(); ++block) {
    const CodecSpec codec = update_codec(header, block);
    Result<Bytes> stepped = state_.step_block(header, contributions, block, codec);
    GODWIT_CHECK(stepped.has_value(), "contributions are validated before they are committed");
    Bytes update = std::move(*stepped);
    header.blocks.push_back({codec, static_cast<std::uint32_t>(update.size()), checksum(update),
                             state_.block_state(block)});
    payloads.push_back(share(std::move(update)));
  }
  append(std::move(header), std::move(payloads), contributions, effects);
}

void Leader::append(EntryHeader header, std::vector<SharedBytes> payloads,
                    const std::vector<Contribution>& contributions, Effects& effects) {
  Entry entry = records::make_entry(std::move(header), std::move(payloads));
  Batch unsynced, commit;
  records::write_entry(entry, unsynced, commit);
  for (std::uint32_t index = 0; index < contributions.size(); ++index) {
    unsynced.put(Family::kInputs, records::input_key(state_.shard(), entry.header.version, index),
                 records::encode_contribution(contributions[index]));
  }
  const Result<void> advanced = state_.advance(entry);
  GODWIT_CHECK(advanced.has_value(), "a commit states the hashes that it made");
  records::write_named_pushes(entry.header, commit);
  commit.put(Family::kMeta, records::meta_key('p', state_.shard()), records::encode_producers(state_.producers()));
  commit.sync = settings_.ack != AckClass::kMemory;
  effects.write(std::move(unsynced));
  effects.write(std::move(commit));
  effects.notice(Notice::Kind::kCommitted, state_.shard(), why_, static_cast<double>(entry.header.version.value()));
  log_.append(std::move(entry));
}

void Leader::announce(TimePoint now, Effects& effects) {
  if (state_.shard() != ShardId() || state_.version() == Version() || state_.head().mode != Mode::kAsync) return;
  if (mode_.mode_epoch > state_.head().mode_epoch) return;
  const std::map<RegionId, RegionOffer> regions = offers(now);
  std::vector<float> steps;
  for (const auto& [id, region] : regions_) {
    if (live(region, now) && region.step_seconds > 0) steps.push_back(region.step_seconds);
  }
  std::sort(steps.begin(), steps.end());
  const float step_seconds = steps.empty() ? 0.0F : steps[steps.size() / 2];
  announcer_.advance({regions, state_.head().round, replication_.drained(), step_seconds}, now, effects);
}

}  // namespace godwit
