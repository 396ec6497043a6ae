#include "scheduler/core/planner.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "scheduler/core/feasibility.h"
#include "scheduler/core/planner_explain.h"
#include "scheduler/core/planner_pass.h"

namespace glim::core {
namespace {

// The head of a shape's queue, waiting for its turn in the pass.
struct Head {
  PriorityClass priority;
  QueueKey key;
  const Shape* shape;
  std::set<QueueKey>::const_iterator at;
  std::set<QueueKey>::const_iterator end;
  bool operator<(const Head& other) const {  // the top of the heap is planned first
    return std::tuple(priority, other.key) < std::tuple(other.priority, key);
  }
};

std::vector<Candidate> Where(const Field& field, Tier tier_max) {
  std::vector<Candidate> some;
  for (const Candidate& c : field.candidates) {
    if (c.tier <= tier_max) some.push_back(c);
  }
  return some;
}

std::size_t LargestZone(const Field& field) {
  std::size_t largest = 0;
  for (const auto& [zone, nodes] : field.fitting_by_zone) largest = std::max(largest, nodes);
  return largest;
}

// Step 3 and 4: among what is free, then among that and what is being emptied anyway.
std::vector<NodeId> PlaceWithoutVictims(const Pass& pass, const JobSpec& spec, const Field& field) {
  MayCrossFn may_cross;
  if (MayCross(spec, pass.policy(), LargestZone(field))) {
    may_cross = [&pass](std::uint32_t a, std::uint32_t b) { return pass.LinkFree(a, b, {}); };
  }
  for (const Tier tier : {Tier::kFree, Tier::kEmptying}) {
    std::vector<NodeId> nodes = Place(Where(field, tier), spec.nodes, may_cross);
    if (!nodes.empty()) return nodes;
  }
  return {};
}

// One way to make room: in these zones, with these victims.
struct Swap {
  VictimChoice choice;
  std::vector<NodeId> nodes;
  std::vector<AttemptId> displaced;
};

std::vector<VictimOption> VictimOptions(const Pass& pass, const std::vector<Candidate>& candidates) {
  std::map<AttemptId, VictimOption> by_attempt;
  for (const Candidate& c : candidates) {
    if (c.tier != Tier::kVictim) continue;
    VictimOption& option = by_attempt[c.holder];
    if (option.nodes++ > 0) continue;
    const Attempt& attempt = *pass.state().FindAttempt(c.holder);
    option.attempt = c.holder;
    option.charged = attempt.charged;
    option.borrowed = attempt.borrowed;
    option.debt_gpu_ms = pass.Debt(c.holder);
  }
  std::vector<VictimOption> options;
  for (const auto& [id, option] : by_attempt) options.push_back(option);
  return options;
}

std::optional<Swap> SwapIn(const Pass& pass, const Field& field, std::uint32_t nodes, const std::set<std::uint32_t>& zones) {
  std::vector<Candidate> here;
  std::uint32_t without_victims = 0;
  for (const Candidate& c : field.candidates) {
    if (!zones.contains(c.zone)) continue;
    here.push_back(c);
    if (c.tier != Tier::kVictim) ++without_victims;
  }
  if (here.size() < nodes) return std::nullopt;
  Swap swap;
  if (without_victims < nodes) {
    auto choice = ChooseVictims(VictimOptions(pass, here), nodes - without_victims);
    if (!choice) return std::nullopt;
    swap.choice = *choice;
  }
  const auto& victims = swap.choice.victims;
  std::erase_if(here, [&](const Candidate& c) {
    return c.tier == Tier::kVictim && std::find(victims.begin(), victims.end(), c.holder) == victims.end();
  });
  swap.nodes = TakeCheapest(here, nodes);
  std::set<AttemptId> displaced;
  for (const Candidate& c : here) {
    const bool used = std::find(swap.nodes.begin(), swap.nodes.end(), c.node) != swap.nodes.end();
    if (used && c.tier == Tier::kDisplaced) displaced.insert(c.holder);
  }
  swap.displaced.assign(displaced.begin(), displaced.end());
  // A victim that gives no node in the end is spared.
  std::erase_if(swap.choice.victims, [&](AttemptId victim) {
    return std::none_of(here.begin(), here.end(), [&](const Candidate& c) {
      return c.holder == victim && std::find(swap.nodes.begin(), swap.nodes.end(), c.node) != swap.nodes.end();
    });
  });
  return swap;
}

// Step 5: the cheapest swap in one zone, else over a link.
std::optional<Swap> CheapestSwap(const Pass& pass, const JobSpec& spec, const Field& field) {
  std::optional<Swap> best;
  const auto cost = [](const Swap& s) { return std::tuple(s.choice.highest, s.choice.debt_gpu_ms, s.choice.victims.size()); };
  const auto consider = [&](std::optional<Swap> swap) {
    if (swap && (!best || cost(*swap) < cost(*best))) best = std::move(swap);
  };
  for (const auto& [zone, fitting] : field.fitting_by_zone) {
    if (fitting >= spec.nodes) consider(SwapIn(pass, field, spec.nodes, {zone}));
  }
  if (best || !MayCross(spec, pass.policy(), LargestZone(field))) return best;
  for (auto a = field.fitting_by_zone.begin(); a != field.fitting_by_zone.end(); ++a) {
    for (auto b = std::next(a); b != field.fitting_by_zone.end(); ++b) {
      std::optional<Swap> swap = SwapIn(pass, field, spec.nodes, {a->first, b->first});
      if (swap && pass.LinkFree(a->first, b->first, swap->choice.victims)) consider(std::move(swap));
    }
  }
  return best;
}

void MaybeReserve(Pass& pass, const Job& job, const Field& field) {
  if (pass.now() - job.queued_at < pass.policy().reserve_after) return;
  std::map<std::uint32_t, std::uint32_t> free_by_zone;
  for (const Candidate& c : field.candidates) {
    if (c.tier == Tier::kFree) ++free_by_zone[c.zone];
  }
  const bool crosses = MayCross(*job.spec, pass.policy(), LargestZone(field));
  std::optional<std::pair<std::uint32_t, std::uint32_t>> best;  // (free nodes, zone)
  for (const auto& [zone, free] : free_by_zone) {
    const auto fitting = field.fitting_by_zone.find(zone);
    if (crosses) {
      pass.Reserve(field, job.spec->nodes, zone);
    } else if (fitting->second >= job.spec->nodes && (!best || free > best->first)) {
      best = {free, zone};
    }
  }
  if (best) pass.Reserve(field, job.spec->nodes, best->second);
}

// Steps 2 to 6 for one job: a start, or the blockers of its shape.
std::optional<PlannedStart> TryStart(Pass& pass, const Job& job, PriorityClass priority, std::vector<Blocker>& blockers,
                                     TimePoint& look_again) {
  PlannedStart start;
  start.job = job.id;
  start.charged = priority;
  start.borrowed = !pass.WithinQuota(job, priority);
  const Field field = pass.FieldFor(job, priority, !start.borrowed);
  start.nodes = PlaceWithoutVictims(pass, *job.spec, field);
  if (start.nodes.empty() && !start.borrowed) {
    if (auto swap = CheapestSwap(pass, *job.spec, field)) {
      start.nodes = std::move(swap->nodes);
      start.victims = std::move(swap->choice.victims);
      start.displaced = std::move(swap->displaced);
    }
  }
  if (!start.nodes.empty()) {
    pass.Take(start, job);
    return start;
  }
  if (field.protected_until && (!look_again || field.protected_until < look_again)) look_again = field.protected_until;
  if (!start.borrowed) MaybeReserve(pass, job, field);
  blockers = Explain(pass, job, priority, field);
  return std::nullopt;
}

}  // namespace

Plan MakePlan(const ClusterState& state, const Policy& policy, TimePoint now) {
  Plan plan;
  Pass pass(state, policy, now);
  auto verdicts = std::make_shared<Verdicts>();
  // 1. Order: a heap of the shapes' heads.
  std::priority_queue<Head> heads;
  const auto push = [&](const Shape& shape, std::set<QueueKey>::const_iterator at, std::set<QueueKey>::const_iterator end) {
    if (at != end) heads.push({pass.ClassOf(*state.FindJob(at->id)), *at, &shape, at, end});
  };
  for (const auto& [shape, queue] : state.index().queue) push(shape, queue.begin(), queue.end());
  while (!heads.empty()) {
    const Head head = heads.top();
    heads.pop();
    const Job& job = *state.FindJob(head.key.id);
    const PriorityClass priority = pass.ClassOf(job);
    if (priority != head.priority) {  // an earlier start used up the class that it was to get
      push(*head.shape, head.at, head.end);
      continue;
    }
    std::vector<Blocker> blockers;
    if (auto start = TryStart(pass, job, priority, blockers, plan.look_again)) {
      plan.starts.push_back(std::move(*start));
      push(*head.shape, std::next(head.at), head.end);
    } else {
      (*verdicts)[*head.shape] = std::move(blockers);  // 7. for all of the shape
    }
  }
  plan.verdicts = std::move(verdicts);
  return plan;
}

}  // namespace glim::core
