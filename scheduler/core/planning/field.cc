#include "scheduler/core/planning/field.h"

#include <algorithm>
#include <optional>

#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/model/time_limit.h"

namespace glim::core {
namespace {

enum class Standing { kVictim, kProtected, kNo };
struct Verdict {
  Standing standing = Standing::kNo;
  TimePoint until;
  bool save_awaited = false;
};

// Of a lower class; what is borrowed is below its own, too.
bool IsBelow(const PassAttempt& holder, const Asker& asker) {
  return holder.priority < asker.priority || (holder.borrowed && holder.priority <= asker.priority);
}

Verdict StandingOf(const PassAttempt& holder, const Asker& asker, const PassTerms& terms) {
  if (!holder.steady || holder.gone || holder.spoken_for) return {};
  const PriorityClass charged = holder.priority;
  TimePoint until;
  if (IsBelow(holder, asker)) {
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

// Of one that is claimed.
bool IsDisplacedBy(const PassAttempt& holder, const Asker& asker) {
  return IsBelow(holder, asker) && !holder.gone && !holder.spoken_for;
}

// How the nodes of an attempt count for the asker: their tier, or none; `until`: it becomes a victim then.
struct Offer {
  bool known = false;
  std::optional<Tier> tier;
  TimePoint until;
};

Offer OfferOf(const PassAttempt& holder, const Asker& asker, const PassTerms& terms, FieldSums& field) {
  Offer offer{true, {}, {}};
  const PriorityClass charged = holder.priority;
  if (holder.row->state == AttemptState::kClaimed) {
    if (asker.may_interrupt && IsDisplacedBy(holder, asker)) offer.tier = Tier::kDisplaced;
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

// The holders that are named, and the zone with the most free nodes.
void SumUp(FieldSums& sums, const std::vector<std::size_t>& free_by_zone) {
  sums.holders_all = sums.holders.size();
  const auto named = static_cast<std::ptrdiff_t>(std::min(sums.holders_all, kHoldersNamed));
  std::partial_sort(sums.holders.begin(), sums.holders.begin() + named, sums.holders.end());
  sums.holders.resize(static_cast<std::size_t>(named));
  for (std::uint32_t zone = 0; zone < free_by_zone.size(); ++zone) {
    const std::size_t free = free_by_zone[zone];
    sums.free += free;
    if (free <= sums.free_in_best_zone) continue;
    sums.free_in_best_zone = free;
    sums.best_zone = zone;
  }
}

void AddReserved(const PoolView& view, const std::vector<ReservedFor>& standing, std::uint32_t node, FieldSums& sums) {
  ++sums.reserved;
  for (const std::uint32_t reservation : view.reserved[node]) {
    const Reservation* row = view.reservations[reservation];
    const bool told = std::find(sums.reserved_by.begin(), sums.reserved_by.end(), row) != sums.reserved_by.end();
    if (standing[reservation] == ReservedFor::kClosed && !told) sums.reserved_by.push_back(row);
  }
}

// `take(node, owner, offer)` is called for each node that the asker could have, now or later; an owner that is kNobody:
// it is free.
template <typename Take>
void Walk(const PoolView& view, const AskView& ask, const Asker& asker, const PassTerms& terms, FieldSums& sums,
          const Take& take) {
  sums.ask = &ask;
  std::vector<Offer> offers(view.attempts.size());
  std::vector<std::size_t> free_by_zone(ask.by_zone.empty() ? 0 : ask.by_zone.rbegin()->first + 1);
  const Duration limit = LimitForHolds(terms.policy, *asker.job);
  const Offer free{true, Tier::kFree, {}};
  const std::vector<ReservedFor> standing = terms.reserved->StandingOf(view.reservations, *asker.job);
  for (const std::uint32_t i : ask.nodes) {
    const PassNode& node = view.nodes[i];
    if (!node.usable) sums.out.Add(node);
    if (!node.usable) continue;
    if (!standing.empty() && StandingAt(view.reserved, standing, i) == ReservedFor::kClosed) {
      AddReserved(view, standing, i, sums);
      continue;
    }
    if (node.taken) continue;
    const std::uint32_t owner = node.claimant != kNobody ? node.claimant : node.holder;
    const bool kept = node.hold_until && asker.priority <= node.hold_from;
    if (owner == kNobody) {
      const bool passes = !kept || (limit.ms > 0 && terms.now + limit <= node.hold_until);
      if (passes) {
        ++free_by_zone[node.zone];
        take(node, owner, free);
      } else {
        ++sums.held_back;
      }
      continue;
    }
    Offer& offer = offers[owner];
    if (!offer.known) offer = OfferOf(view.attempts[owner], asker, terms, sums);
    if (offer.tier == Tier::kEmptying && kept) {  // nobody can tell when it is empty: a limit is no excuse
      ++sums.held_back;
    } else if (offer.tier || offer.until) {
      take(node, owner, offer);
    }
  }
  SumUp(sums, free_by_zone);
}

// It is suspect of late; a path that the job names did not answer there when it was last to start; an operator has
// moved the job off it; or jobs fail in it again and again, and a gang of many would lose the most.
bool IsLeftOut(const Job& job, const Node& node, const PassTerms& terms) {
  return IsSuspect(node, terms.now) || std::binary_search(job.hung_on.begin(), job.hung_on.end(), node.id) ||
         std::binary_search(job.moved_off.begin(), job.moved_off.end(), node.id) ||
         (node.lemon && job.spec->nodes >= terms.policy.health.lemons.large_nodes);
}

}  // namespace

std::optional<TimePoint> GivesWayFrom(const PassAttempt& holder, const Asker& asker, const PassTerms& terms) {
  if (!asker.may_interrupt) return std::nullopt;
  if (holder.row->state == AttemptState::kClaimed) {
    if (IsDisplacedBy(holder, asker)) return TimePoint{};
    return std::nullopt;
  }
  const Verdict verdict = StandingOf(holder, asker, terms);
  if (verdict.standing == Standing::kNo) return std::nullopt;
  return verdict.standing == Standing::kVictim ? TimePoint{} : verdict.until;
}

Field FieldIn(const PoolView& view, const AskView& ask, const Asker& asker, const PassTerms& terms) {
  Field field;
  field.candidates.reserve(ask.nodes.size());
  const bool save_on_nodes = !IsShared(asker.job->durable);
  const std::vector<ReservedFor> standing = terms.reserved->StandingOf(view.reservations, *asker.job);
  const bool has_own = std::find(standing.begin(), standing.end(), ReservedFor::kOwn) != standing.end();
  Walk(view, ask, asker, terms, field, [&](const PassNode& node, std::uint32_t owner, const Offer& offer) {
    const bool has_save = save_on_nodes && HasWhole(asker.job->durable, node.id);
    const Tier tier = offer.tier.value_or(Tier::kVictim);
    Candidate candidate{node.id, node.zone, node.leaf, node.row->suspect, tier, {}, has_save};
    candidate.left_out = IsLeftOut(*asker.job, *node.row, terms);
    if (!standing.empty()) {
      const ReservedFor at = StandingAt(view.reserved, standing, static_cast<std::uint32_t>(&node - view.nodes.data()));
      candidate.avoid = at == ReservedFor::kAvoid || (has_own && at != ReservedFor::kOwn);
    }
    if (owner != kNobody) candidate.holder = view.attempts[owner].id;
    if (offer.tier) {
      field.candidates.push_back(candidate);
    } else {
      field.later.emplace_back(offer.until, candidate);
    }
  });
  return field;
}

FieldSums FieldSumsIn(const PoolView& view, const AskView& ask, const Asker& asker, const PassTerms& terms) {
  FieldSums sums;
  Walk(view, ask, asker, terms, sums, [](const PassNode&, std::uint32_t, const Offer&) {});
  return sums;
}

}  // namespace glim::core
