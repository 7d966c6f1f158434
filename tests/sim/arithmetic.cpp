#include "tests/sim/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "shared/codec/codec.h"
#include "shared/tensor/kernels.h"

namespace godwit::sim {
namespace {

constexpr double kEpsilon = 0x1p-22;  // a few fp32 roundings

// What a codec may change a value by, in a block whose largest magnitude is `largest`.
double codec_error(CodecSpec codec, double value, double largest) {
  switch (codec.id) {
    case CodecId::kBf16:
      return std::abs(value) * 0x1p-8;
    case CodecId::kInt8:
      return largest / 254 * (1 + 0x1p-14);
    default:
      return 0;
  }
}

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::max({std::abs(a), std::abs(b), 1e-9});
}

}  // namespace

Arithmetic::Arithmetic(const Swarm& swarm, const ShardLayout& layout)
    : swarm_(swarm), layout_(layout), values_(layout.parameters), velocity_(layout.parameters) {}

std::string Arithmetic::apply(const Entry& entry, const MadePushes& pushes, RestoreEpoch newest) {
  newest_restore_ = newest;
  const EntryHeader& header = entry.header;
  if (std::string wrong = check_scalars(header, pushes); !wrong.empty()) return wrong;
  if (resets_moments(header.kind)) std::fill(velocity_.begin(), velocity_.end(), Term{});
  for (std::uint32_t block = 0; block < header.blocks.size(); ++block) {
    if (std::string wrong = apply_block(entry, block, pushes); !wrong.empty()) {
      return "block " + std::to_string(block) + ": " + wrong;
    }
  }
  last_ = header;
  return "";
}

// Adds what it applies to `weight`.
std::string Arithmetic::check_members(const Named& named, const MadePushes& pushes, double& weight) const {
  bool outdated = false, discarded = false;
  for (const Member& member : named.members) {
    const auto made = pushes.find(member.id);
    if (made == pushes.end()) return "names a push that no worker made";
    const PushHeader& push = made->second.header;
    if (named.round != push.round || member.weight != push.weight || member.steps != push.steps ||
        member.tokens != push.tokens || !(member.clip > 0 && member.clip <= 1)) {
      return "a member is not as its worker pushed it";
    }
    const bool of_an_older_model = push.restore_epoch < last_.restore_epoch;
    const Verdict verdict = verdict_of(named, member);
    outdated |= push.restore_epoch < newest_restore_;
    discarded |= verdict == Verdict::kDiscarded;
    if (verdict == Verdict::kApplied) {
      weight += member.weight;
      if (of_an_older_model) return "a push trained on a model that a restore replaced is applied";
    } else if (verdict == Verdict::kRefused && push.kind != PushKind::kInitial) {
      return "an acknowledged push is refused";
    }
  }
  return discarded && !outdated ? "a push is discarded without a restore" : "";
}

std::string Arithmetic::check_scalars(const EntryHeader& header, const MadePushes& pushes) const {
  double weight = 0;
  for (const Named& named : header.contributions) {
    if (std::string wrong = check_members(named, pushes, weight); !wrong.empty()) return wrong;
  }
  double live = 0;
  for (const LiveRegion& region : header.live) live += region.weight;
  if (!close(header.round_weight, live > 0 ? live : last_.round_weight))
    return "the round's weight is not its members'";
  const bool counts = header.kind == EntryKind::kRound || header.kind == EntryKind::kLate;
  if (!close(header.total_weight, last_.total_weight + (counts ? weight : 0)))
    return "the weight clock is wrong";
  if (header.round < last_.round) return "rounds went back";
  if (header.kind == EntryKind::kRound) {
    if (header.round <= last_.round) return "a round was committed twice";
    if (weight > 0 && !close(header.inverse_weight * weight, 1)) return "a round is not divided by its weight";
    for (const Named& named : header.contributions) {
      if (named.round != header.round) return "a round holds a contribution of another one";
    }
  }
  return header.kind == EntryKind::kLate ? check_late(header, pushes) : "";
}

std::string Arithmetic::check_late(const EntryHeader& header, const MadePushes& pushes) const {
  const Named& named = header.contributions.front();
  if (header.contributions.size() != 1 || named.round > last_.round) return "not late";
  double base = last_.total_weight;
  double weight = 0;
  for (const Member& member : named.members) {
    if (member.verdict != Verdict::kApplied) continue;
    base = std::min(base, pushes.at(member.id).header.base_weight);
    weight += member.weight;
  }
  const double divisor = header.round_weight > 0 ? header.round_weight : weight;
  const double staleness =
      header.round_weight > 0 ? (last_.total_weight - base) / header.round_weight : 0;
  const double factor = 1 / std::sqrt(1 + std::max(0.0, staleness - 1));
  if (!close(named.staleness_rounds, staleness)) return "its staleness is not what its pushes say";
  return close(header.inverse_weight, factor / divisor)
             ? ""
             : "a late contribution has the wrong weight";
}

std::vector<Arithmetic::Term> Arithmetic::contribution(const Named& named, bool initial,
                                                       std::uint32_t block,
                                                       const MadePushes& pushes) const {
  const Block& place = layout_.blocks[block];
  const bool exact = place.exact || initial;
  std::vector<Term> sum(place.count);
  double largest = 0;
  for (std::uint32_t i = 0; i < place.count; ++i) {
    double magnitude = 0;
    for (const Member& member : named.members) {
      if (member.verdict != Verdict::kApplied) continue;
      const MadePush& made = pushes.at(member.id);
      const double share =
          double{member.weight} * member.clip * made.q[place.offset - layout_.offset + i];
      sum[i].value += share;
      magnitude += std::abs(share);
      if (!exact) sum[i].error += codec_error(made.header.codec, share, 0);
    }
    sum[i].error += magnitude * kEpsilon;
    largest = std::max(largest, std::abs(sum[i].value) + sum[i].error);
  }
  for (Term& term : sum) {
    if (!exact)
      term.error +=
          codec_error(swarm_.run.contribution_codec, std::abs(term.value) + term.error, largest);
  }
  return sum;
}

std::vector<Arithmetic::Term> Arithmetic::gradient(const EntryHeader& header, std::uint32_t block,
                                                   const MadePushes& pushes) const {
  std::vector<Term> sum(layout_.blocks[block].count);
  for (const Named& named : header.contributions) {
    if (named.verdict != Verdict::kApplied) continue;
    const std::vector<Term> part =
        contribution(named, header.kind == EntryKind::kInitial, block, pushes);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i].value += part[i].value;
      sum[i].error += part[i].error + std::abs(part[i].value) * kEpsilon;
    }
  }
  for (Term& term : sum) {
    term.value *= header.inverse_weight;
    term.error = term.error * header.inverse_weight + std::abs(term.value) * kEpsilon;
  }
  return sum;
}

std::vector<Arithmetic::Term> Arithmetic::step(const EntryHeader& header, std::uint32_t block,
                                               std::vector<Term> gradient) {
  const Block& place = layout_.blocks[block];
  const std::span<Term> velocity =
      std::span(velocity_).subspan(place.offset - layout_.offset, place.count);
  if (header.zero_velocity) std::fill(velocity.begin(), velocity.end(), Term{});
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    Term& g = gradient[i];
    if (header.outer == Outer::kNesterov) {
      Term& v = velocity[i];
      v.value = header.momentum * v.value + g.value;
      v.error = header.momentum * v.error + g.error + std::abs(v.value) * kEpsilon;
      g.value += header.momentum * v.value;
      g.error += header.momentum * v.error + std::abs(g.value) * kEpsilon;
    }
    g.value *= -header.learning_rate;
    g.error = g.error * header.learning_rate + std::abs(g.value) * kEpsilon;
  }
  return gradient;
}

std::string Arithmetic::apply_block(const Entry& entry, std::uint32_t block,
                                    const MadePushes& pushes) {
  const EntryHeader& header = entry.header;
  const Block& place = layout_.blocks[block];
  std::vector<float> update(place.count);
  const CodecSpec codec = header.blocks[block].codec;
  if (!decode_block(codec, view(entry.payloads[block]), update))
    return "the update does not decode";

  const std::span<float> values =
      std::span(values_).subspan(place.offset - layout_.offset, place.count);
  if (header.kind == EntryKind::kRestore) {
    std::copy(update.begin(), update.end(), values.begin());
    return check_state(header, block, values);
  }
  std::vector<Term> expected = step(header, block, gradient(header, block, pushes));
  double largest = 0;
  for (std::size_t i = 0; i < update.size(); ++i) {
    expected[i].error += (std::abs(values[i]) + std::abs(update[i])) * kEpsilon;
    largest = std::max(largest, std::abs(expected[i].value) + expected[i].error);
  }
  for (std::size_t i = 0; i < update.size(); ++i) {
    const double before = values[i];
    values[i] += update[i];
    const Term& term = expected[i];
    const double allowed =
        term.error + codec_error(codec, std::abs(term.value) + term.error, largest);
    const double difference = values[i] - before - term.value;
    if (!(std::abs(difference) <= allowed)) {
      return "P changed by " + std::to_string(values[i] - before) + " where its pushes give " +
             std::to_string(term.value) + " within " + std::to_string(allowed);
    }
  }
  return check_state(header, block, values);
}

std::string Arithmetic::check_state(const EntryHeader& header, std::uint32_t block, std::span<const float> values) {
  return kernels::block_hash(values) == header.blocks[block].state ? "" : "the stated hash is not that of the state";
}

}  // namespace godwit::sim
