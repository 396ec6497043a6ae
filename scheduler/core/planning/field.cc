#include "scheduler/core/planning/field.h"

#include <algorithm>
#include <map>
#include <optional>

#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

enum class Standing { kVictim, kProtected, kNo };
struct Verdict {
  Standing standing = Standing::kNo;
  TimePoint until;
  bool save_awaited = false;
};

Verdict StandingOf(const PassAttempt& holder, const Asker& asker, const PassTerms& terms) {
  if (!holder.steady || holder.gone || holder.spoken_for) return {};
  const PriorityClass charged = holder.priority;
  TimePoint until;
  if (charged < asker.priority || (holder.borrowed && charged <= asker.priority)) {
    if (asker.priority != PriorityClass::kExtremeHigh) until = holder.min_run_until;
  } else if (charged == asker.priority &&
             (asker.starved || IsPreemptedBy(terms.preempt_gain, holder.urgency, asker.urgency))) {
    until = holder.quantum_until;
  } else {
    return {};
  }
  if (terms.now < until) return {Standing::kProtected, until, false};
  if (holder.save_due && asker.priority != PriorityClass::kExtremeHigh) {
    return {Standing::kProtected, holder.save_due, true};
  }
  return {Standing::kVictim, {}, false};
}

// How the nodes of an attempt count for the asker: their tier, or none; `until`: it becomes a victim then.
struct Offer {
  bool known = false;
  std::optional<Tier> tier;
  TimePoint until;
};

Offer OfferOf(const PassAttempt& holder, const Asker& asker, const PassTerms& terms, Field& field) {
  Offer offer{true, {}, {}};
  const PriorityClass charged = holder.priority;
  if (holder.row->state == AttemptState::kClaimed) {
    if (asker.may_interrupt && charged < asker.priority && !holder.gone) offer.tier = Tier::kDisplaced;
  } else if (!holder.steady) {
    // It left for a preemptor that went away, or to go on elsewhere: unless somebody is more urgent, it has the first
    // claim on its nodes.
    const Agreement* agreement = holder.row->open_agreement();
    const bool comes_first = agreement && (agreement->swap_aborted || agreement->moved);
    if (!comes_first || asker.priority > charged) offer.tier = Tier::kEmptying;
  } else if (asker.may_interrupt) {
    const Verdict verdict = StandingOf(holder, asker, terms);
    if (verdict.standing == Standing::kVictim) offer.tier = Tier::kVictim;
    if (verdict.standing == Standing::kProtected) {
      offer.until = verdict.until;
      if (!field.protected_until || verdict.until < field.protected_until) {
        field.protected_until = verdict.until;
        field.lower_protected = charged < asker.priority;
        field.save_awaited = verdict.save_awaited;
        const bool doubled = verdict.until == holder.quantum_until && holder.job->quantum_doublings > 0;
        field.doubled = doubled && charged == asker.priority ? holder.id.job : JobId{};
      }
    }
  }
  if (!offer.tier) field.holders.push_back(holder.id.job);
  return offer;
}

void SumUp(Field& field) {
  field.holders_all = field.holders.size();
  const auto named = static_cast<std::ptrdiff_t>(std::min(field.holders_all, kHoldersNamed));
  std::partial_sort(field.holders.begin(), field.holders.begin() + named, field.holders.end());
  field.holders.resize(static_cast<std::size_t>(named));
  std::map<std::uint32_t, std::size_t> by_zone;
  for (const Candidate& c : field.candidates) {
    if (c.tier != Tier::kFree) continue;
    ++field.free;
    ++by_zone[c.zone];
  }
  for (const auto& [zone, free] : by_zone) {
    if (free <= field.free_in_best_zone) continue;
    field.free_in_best_zone = free;
    field.best_zone = zone;
  }
}

}  // namespace

Duration LimitForHolds(const Policy& policy, const Job& job) {
  return policy.enforce_time_limits ? LimitClass(job.spec->time_limit) : Duration{};
}

std::optional<TimePoint> GivesWayFrom(const PassAttempt& holder, const Asker& asker, const PassTerms& terms) {
  if (!asker.may_interrupt) return std::nullopt;
  if (holder.row->state == AttemptState::kClaimed) {
    if (holder.priority < asker.priority && !holder.gone) return TimePoint{};
    return std::nullopt;
  }
  const Verdict verdict = StandingOf(holder, asker, terms);
  if (verdict.standing == Standing::kNo) return std::nullopt;
  return verdict.standing == Standing::kVictim ? TimePoint{} : verdict.until;
}

Field FieldIn(const PoolView& view, const AskView& ask, const Asker& asker, const PassTerms& terms) {
  Field field;
  field.ask = &ask;
  std::vector<Offer> offers(view.attempts.size());
  field.candidates.reserve(ask.nodes.size());
  const Duration limit = LimitForHolds(terms.policy, *asker.job);
  for (const std::uint32_t i : ask.nodes) {
    const PassNode& node = view.nodes[i];
    if (!node.usable || node.taken) continue;
    const bool has_save = !IsShared(asker.job->durable) && HasWhole(asker.job->durable, node.id);
    Candidate candidate{node.id, node.zone, node.leaf, node.row->suspect, Tier::kFree, {}, has_save};
    candidate.left_out = node.row->suspect_until > terms.now;
    const std::uint32_t owner = node.claimant != kNobody ? node.claimant : node.holder;
    if (owner == kNobody) {
      const bool passes =
          !node.hold_until || asker.priority > node.hold_from || (limit.ms > 0 && terms.now + limit <= node.hold_until);
      if (passes) field.candidates.push_back(candidate);
      if (!passes) ++field.held_back;
      continue;
    }
    Offer& offer = offers[owner];
    if (!offer.known) offer = OfferOf(view.attempts[owner], asker, terms, field);
    candidate.holder = view.attempts[owner].id;
    candidate.tier = offer.tier.value_or(Tier::kVictim);
    if (offer.tier) {
      field.candidates.push_back(candidate);
    } else if (offer.until) {
      field.later.emplace_back(offer.until, candidate);
    }
  }
  SumUp(field);
  return field;
}

}  // namespace glim::core
