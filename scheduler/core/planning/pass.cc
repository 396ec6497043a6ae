#include "scheduler/core/planning/pass.h"

#include <set>

#include "scheduler/core/model/budget_use.h"
#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/time_limit.h"
#include "scheduler/core/planning/next_turn.h"
#include "scheduler/core/planning/victims.h"

namespace glim::core {

Pass::Pass(const ClusterState& state, const Policy& policy, TimePoint now, PassTrace* trace)
    : state_(state),
      trace_(trace),
      terms_{policy, now, PreemptGain(policy), &reserved_},
      over_budget_(TeamsOverBudget(state.tables(), now)),
      quota_(state),
      urgencies_(state, policy, now),
      reserved_(state, policy, now),
      pools_(state, policy, now, quota_, urgencies_, reserved_),
      links_(state),
      supplies_(now) {
  for (const auto& [pool, attempts] : state.index().live) {
    for (const AttemptId id : attempts) {
      if (GoesOnElsewhere(*state.FindAttempt(id))) moving_.push_back(id);
    }
  }
}

const PassAttempt& Pass::WithPreemptionCost(const std::string& pool, AttemptId attempt) {
  PassAttempt& found = AttemptIn(PoolOf(pool), attempt);
  if (found.preemption_cost_gpu_ms < 0) {
    found.preemption_cost_gpu_ms = PreemptionCostOf(state_, policy(), *found.row, now());
  }
  return found;
}

Field Pass::FieldFor(const Asker& asker) {
  return FieldIn(PoolOf(asker.job->spec->pool), AskOf(*asker.job), asker, terms_);
}

FieldSums Pass::FieldSumsFor(const Asker& asker) {
  return FieldSumsIn(PoolOf(asker.job->spec->pool), AskOf(*asker.job), asker, terms_);
}

std::uint32_t Pass::AtMost(const Asker& asker, bool later) {
  return supplies_.AtMost(PoolOf(asker.job->spec->pool), asker, later);
}

bool Pass::LinkFree(std::uint32_t zone_a, std::uint32_t zone_b, const std::vector<AttemptId>& leaving) const {
  return LinkUseOf(zone_a, zone_b, leaving).Free();
}

LinkUse Pass::LinkUseOf(std::uint32_t zone_a, std::uint32_t zone_b, const std::vector<AttemptId>& leaving) const {
  return links_.UseOf(ZoneName(zone_a), ZoneName(zone_b), leaving);
}

std::optional<TimePoint> Pass::GivesWayFrom(AttemptId holder, const Asker& asker) {
  if (state_.FindJob(holder.job)->spec->pool != asker.job->spec->pool) return std::nullopt;
  return core::GivesWayFrom(AttemptIn(PoolOf(asker.job->spec->pool), holder), asker, terms_);
}

TimePoint Pass::NextTurn(const std::string& pool, PriorityClass priority) {
  return NextTurnIn(state_, policy(), now(), pool, PoolOf(pool), priority);
}

void Pass::Take(const PlannedStart& start, const Job& job) {
  PoolView& view = PoolOf(job.spec->pool);
  ++view.starts;
  ++changes_;
  for (const NodeId id : start.nodes) {
    if (PassNode* node = NodeIn(view, id)) node->taken = true;
  }
  TakeLink(view, start.nodes);
  const auto mark = [&](AttemptId id) {
    links_.Displace(id);
    AttemptIn(view, id).gone = true;
  };
  for (const AttemptId id : start.victims) mark(id);
  for (const AttemptId id : start.displaced) mark(id);
  if (!start.borrowed) quota_.Charge(job, start.charged);
}

void Pass::TakeLink(PoolView& view, const std::vector<NodeId>& nodes) {
  std::set<std::string> zones;
  for (const NodeId id : nodes) {
    if (const PassNode* node = NodeIn(view, id)) zones.insert(ZoneName(node->zone));
  }
  links_.Take(zones);
}

void Pass::Keep(const PassAttempt& moved, const std::vector<NodeId>& nodes, TimePoint until) {
  PoolView& view = PoolOf(moved.job->spec->pool);
  for (const NodeId id : nodes) {
    PassNode* node = NodeIn(view, id);
    if (!node || node->holder != kNobody) continue;  // its own: nobody else gets them (OfferOf)
    node->hold_until = until;
    node->hold_from = moved.priority;
  }
  holds_.insert(until);
  ++changes_;
  TakeLink(view, nodes);
}

TimePoint Pass::HoldPassed(const Job& job) const {
  const Duration limit = LimitForHolds(policy(), job);
  const auto first = limit.ms > 0 ? holds_.lower_bound(now() + limit) : holds_.end();
  return first == holds_.end() ? TimePoint{} : *first;
}

void Pass::HoldBack(const std::string& pool, const std::vector<NodeId>& nodes, TimePoint until) {
  PoolView& view = PoolOf(pool);
  for (const NodeId id : nodes) {
    PassNode* node = NodeIn(view, id);
    if (!node) continue;
    node->hold_until = until;
    node->hold_from = PriorityClass::kExtremeHigh;
    for (const std::uint32_t has : {node->holder, node->claimant}) {
      if (has != kNobody) view.attempts[has].spoken_for = true;
    }
  }
  holds_.insert(until);
  ++changes_;
  TakeLink(view, nodes);
}

}  // namespace glim::core
