#include "scheduler/core/planning/quota_use.h"

#include <algorithm>

namespace glim::core {
namespace {

std::uint32_t AtAndAbove(const std::map<PriorityClass, std::uint32_t>& used, PriorityClass priority) {
  std::uint32_t sum = 0;
  for (auto it = used.lower_bound(priority); it != used.end(); ++it) sum += it->second;
  return sum;
}

}  // namespace

QuotaUse::QuotaUse(const ClusterState& state) : accounts_(state.accounts()) {
  std::vector<const Attempt*> live;
  for (const auto& [pool, attempts] : state.index().live) {
    for (const AttemptId id : attempts) {
      const Attempt* attempt = state.FindAttempt(id);
      if (attempt->borrowed &&
          state.FindJob(id.job)->validates) {  // of no quota, and whoever needs its node comes first
        borrowed_.insert(id);
      } else if (!accounts_.quotas.empty()) {
        live.push_back(attempt);
      } else if (attempt->borrowed) {  // the quota is gone
        changed_.emplace_back(id, false);
      }
    }
  }
  std::sort(live.begin(), live.end(), [](const Attempt* a, const Attempt* b) {
    return std::tuple(a->borrowed, a->claimed_at, a->id) < std::tuple(b->borrowed, b->claimed_at, b->id);
  });
  for (const Attempt* attempt : live) {
    const Job& job = *state.FindJob(attempt->id.job);
    const bool fits = Fits(job, attempt->charged);
    if (fits) {
      Charge(job, attempt->charged);
    } else {
      borrowed_.insert(attempt->id);
    }
    if (fits == attempt->borrowed) changed_.emplace_back(attempt->id, !fits);
  }
}

QuotaUse::Bounds& QuotaUse::BoundsFor(const QuotaAsk& ask) const {
  const auto [it, fresh] = bounds_.try_emplace({ask.user, ask.team, ask.pool});
  if (!fresh) return it->second;
  for (QuotaBound& bound : BoundsOf(accounts_, ask.user, ask.team, ask.pool)) {
    Used& used = used_[{bound.group, bound.who}];
    it->second.push_back({std::move(bound), &used});
  }
  return it->second;
}

void QuotaUse::Charge(const QuotaAsk& ask, PriorityClass priority) {
  if (accounts_.quotas.empty()) return;
  for (Counted& counted : BoundsFor(ask)) (*counted.used)[priority] += ask.nodes;
}

QuotaUse::Left QuotaUse::LeftFor(const QuotaAsk& ask, PriorityClass priority) const {
  Left left;
  if (accounts_.quotas.empty()) return left;
  const auto bound_by = [&](const QuotaBound& bound, PriorityClass at, std::uint32_t number, std::uint32_t used) {
    const std::uint32_t rest = number > used ? number - used : 0;
    // Of two that leave nothing the one that allows nothing is told.
    if (std::pair(rest, number) < std::pair(left.nodes, left.of_nodes)) left = {rest, number, at, Whose(bound)};
  };
  for (const Counted& counted : BoundsFor(ask)) {
    const ClassNumbers& numbers = *counted.bound.numbers;
    if (NumberFor(numbers, priority) == 0) bound_by(counted.bound, priority, 0, 0);
    for (const auto& [named, number] : numbers) {
      if (named <= priority) bound_by(counted.bound, named, number, AtAndAbove(*counted.used, named));
    }
  }
  return left;
}

bool QuotaUse::Fits(const QuotaAsk& ask, PriorityClass priority) const {
  return LeftFor(ask, priority).nodes >= ask.nodes;
}

// The highest class that the user's own quota names and that has enough left; else low. Without a quota, normal.
PriorityClass QuotaUse::ResolveAuto(const QuotaAsk& ask) const {
  std::set<PriorityClass> named;
  for (const Counted& counted : BoundsFor(ask)) {
    const QuotaOf of = counted.bound.group.of;
    if (of == QuotaOf::kTeam || of == QuotaOf::kEverybody) continue;
    for (const auto& [priority, nodes] : *counted.bound.numbers) named.insert(priority);
  }
  for (auto it = named.rbegin(); it != named.rend(); ++it) {
    if (Fits(ask, *it)) return *it;
  }
  return named.empty() && Fits(ask, PriorityClass::kNormal) ? PriorityClass::kNormal : PriorityClass::kLow;
}

QuotaTurn QuotaUse::TurnOf(const QuotaAsk& ask) const {
  QuotaTurn turn;
  turn.charged = ask.priority;
  if (accounts_.quotas.empty()) {
    if (turn.charged == PriorityClass::kAuto) turn.charged = PriorityClass::kNormal;
    turn.order = turn.charged;
    return turn;
  }
  if (turn.charged == PriorityClass::kAuto) turn.charged = ResolveAuto(ask);
  const Left left = LeftFor(ask, turn.charged);
  turn.order = turn.charged;
  if (left.nodes >= ask.nodes) return turn;
  turn.order = PriorityClass::kLow;
  turn.standing = left.of_nodes == 0 ? QuotaStanding::kNotAllowed : QuotaStanding::kBorrows;
  return turn;
}

}  // namespace glim::core
