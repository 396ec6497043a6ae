// What one planning pass knows and has already given away. Its parts are files of their own: what is left of quotas
// (quota_use.h), who is how urgent (urgencies.h), the pools (pool_view.h), the links between zones (zone_links.h), the
// sums that refuse most of a queue (supply.h), what an asker could get (field.h). Private to the planner and to advice.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/core/model/plan.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/planning/field.h"
#include "scheduler/core/planning/pass_trace.h"
#include "scheduler/core/planning/supply.h"
#include "scheduler/core/planning/zone_links.h"

namespace glim::core {

class Pass {
 public:
  // All are lent and outlive it. `trace` may be null, as it is in every pass that decides.
  Pass(const ClusterState& state, const Policy& policy, TimePoint now, PassTrace* trace = nullptr);
  Pass(const Pass&) = delete;
  Pass& operator=(const Pass&) = delete;

  const ClusterState& state() const { return state_; }
  const Policy& policy() const { return terms_.policy; }
  TimePoint now() const { return terms_.now; }
  // Null unless somebody reads along what is tried for this one.
  PassTrace* TraceOf(const Job& job) const { return trace_ && trace_->IsAbout(job) ? trace_ : nullptr; }
  std::int64_t preempt_gain() const { return terms_.preempt_gain; }
  const QuotaUse& quota() const { return quota_; }
  const Reserved& reserved() const { return reserved_; }
  bool IsOverBudget(const std::string& team) const { return over_budget_.contains(team); }
  // What the reservations of its pool are to a job (reserved.h).
  std::vector<ReservedFor> ReservedStanding(const Job& job) {
    return reserved_.StandingOf(PoolOf(job.spec->pool).reservations, job);
  }
  Urgency UrgencyOf(const Shape& shape) const { return urgencies_.OfWaiting(shape); }
  const std::string& ZoneName(std::uint32_t zone) const { return state_.layouts().zone_names[zone]; }

  PoolView& PoolOf(const std::string& pool) { return pools_.Of(pool); }
  const AskView& AskOf(const Job& job) { return pools_.AskOf(job); }
  // Attempts that leave to go on elsewhere.
  const std::vector<AttemptId>& moving() const { return moving_; }
  // One of the pool's live attempts, its preemption cost included.
  const PassAttempt& WithPreemptionCost(const std::string& pool, AttemptId attempt);

  Field FieldFor(const Asker& asker);
  FieldSums FieldSumsFor(const Asker& asker);
  // An upper bound of the nodes that it could get now (`later`: or when protections have ended), from sums alone.
  std::uint32_t AtMost(const Asker& asker, bool later);
  bool LinkFree(std::uint32_t zone_a, std::uint32_t zone_b, const std::vector<AttemptId>& leaving) const;
  LinkUse LinkUseOf(std::uint32_t zone_a, std::uint32_t zone_b, const std::vector<AttemptId>& leaving) const;
  // Nothing: it is of another pool, or never gives way to the asker (field.h).
  std::optional<TimePoint> GivesWayFrom(AttemptId holder, const Asker& asker);
  TimePoint NextTurn(const std::string& pool, PriorityClass priority);

  void Take(const PlannedStart& start, const Job& job);
  // Keeps these nodes, or what will become free of them, and their link for a job that is being moved there.
  void Keep(const PassAttempt& moved, const std::vector<NodeId>& nodes, TimePoint until);
  // Keeps those of these nodes for it that are free or being emptied, and the attempts that have or claim the others,
  // until `until`; and the link, if they are of two zones.
  void HoldBack(const std::string& pool, const std::vector<NodeId>& nodes, TimePoint until);
  // The first of the pass's holds that the job does not outlast, by the moment at which it ends: it passes that one and
  // those behind it. 0: none.
  TimePoint HoldPassed(const Job& job) const;
  // Grows with each start and each hold, in whatever pool: what was told before may be otherwise.
  std::uint64_t changes() const { return changes_; }
  // Nobody behind it has that attempt interrupted.
  void SpeakFor(const std::string& pool, AttemptId attempt) { AttemptIn(PoolOf(pool), attempt).spoken_for = true; }

 private:
  void TakeLink(PoolView& view, const std::vector<NodeId>& nodes);

  const ClusterState& state_;
  PassTrace* const trace_;
  const PassTerms terms_;
  const std::set<std::string> over_budget_;
  QuotaUse quota_;
  Urgencies urgencies_;
  Reserved reserved_;
  PoolViews pools_;
  ZoneLinks links_;
  Supplies supplies_;
  std::vector<AttemptId> moving_;
  std::set<TimePoint> holds_;  // when they end
  std::uint64_t changes_ = 1;
};

}  // namespace glim::core
