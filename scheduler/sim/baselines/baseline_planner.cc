#include "scheduler/sim/baselines/baseline_planner.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sdk/base/check.h"

namespace glim::core {
namespace {

constexpr std::int64_t kTiresiasGpuMs = 18'000'000;
// A job that runs changes its queue at an event, or at the next of these.
constexpr Duration kTiresiasTick = Minutes(1);

// Queued jobs by their order, one at a time: a heap of the heads of the shapes' queues. What is too large for the nodes
// that are left is never looked at.
class Waiting {
 public:
  explicit Waiting(const ClusterState& state) {
    for (const auto& [shape, queue] : state.index().queue) Push({queue.begin(), queue.end(), shape.nodes});
  }

  bool empty() const { return heads_.empty(); }
  JobId job() const { return heads_.top().at->id; }
  std::uint32_t nodes() const { return heads_.top().nodes; }

  void Next() {
    Head head = heads_.top();
    heads_.pop();
    ++head.at;
    Push(head);
  }
  // Those of the head's shape are as large as it is.
  void DropShape() { heads_.pop(); }

 private:
  struct Head {
    std::set<QueueKey>::const_iterator at;
    std::set<QueueKey>::const_iterator end;
    std::uint32_t nodes;
    bool operator>(const Head& other) const {
      return std::tie(at->submitted_at, at->id) > std::tie(other.at->submitted_at, other.at->id);
    }
  };
  void Push(const Head& head) {
    if (head.at != head.end) heads_.push(head);
  }

  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
};

std::vector<NodeId> FreeNodes(const ClusterState& state) {
  std::vector<NodeId> nodes;
  for (const auto& [pool, ids] : state.index().free_nodes) nodes.insert(nodes.end(), ids.begin(), ids.end());
  std::sort(nodes.begin(), nodes.end(), std::greater<>());  // taken from the back, lowest first
  return nodes;
}

// What the attempt would leave: a gang that ends gives its nodes back one by one, and some may be away.
std::vector<NodeId> HeldBy(const ClusterState& state, const Attempt& attempt) {
  std::vector<NodeId> held;
  for (const NodeId id : attempt.nodes) {
    const Node* node = state.FindNode(id);
    if (node && node->holder == attempt.id && !node->claim && node->state == NodeState::kReady) held.push_back(id);
  }
  return held;
}

PlannedStart StartOf(const Job& job, std::vector<NodeId>& nodes) {
  PlannedStart start;
  start.job = job.id;
  if (job.spec->priority != PriorityClass::kAuto) start.charged = job.spec->priority;
  const auto taken = nodes.end() - static_cast<std::ptrdiff_t>(job.spec->nodes);
  start.nodes.assign(taken, nodes.end());
  std::sort(start.nodes.begin(), start.nodes.end());  // contiguous by zone, as nodes are registered
  nodes.erase(taken, nodes.end());
  return start;
}

void Explain(const ClusterState& state, std::size_t free, Plan& plan) {
  auto verdicts = std::make_shared<Verdicts>();
  for (const auto& [shape, queue] : state.index().queue) {
    Blocker blocker;
    blocker.kind = BlockerKind::kNodesBusy;
    blocker.message = "waits for its turn: a baseline planner decides";
    blocker.have = static_cast<std::int64_t>(free);
    blocker.need = shape.nodes;
    verdicts->emplace_hint(verdicts->end(), shape, std::vector<Blocker>{std::move(blocker)});
  }
  plan.verdicts = std::move(verdicts);
}

// ---- fifo and easy

// When a job that starts then is over; far away for one without a limit.
TimePoint EndOf(const Job& job, TimePoint start) {
  return start + (job.spec->time_limit.ms > 0 ? job.spec->time_limit : Hours(24 * 365 * 100));
}

struct Shadow {
  TimePoint at;           // when the blocked head will have its nodes
  std::size_t spare = 0;  // nodes that it leaves then
};

Shadow ShadowOf(const ClusterState& state, const Plan& plan, std::size_t free, std::uint32_t needed, TimePoint now) {
  std::vector<std::pair<TimePoint, std::size_t>> ends;
  for (const auto& [pool, attempts] : state.index().live) {
    for (const AttemptId id : attempts) {
      const Attempt& attempt = *state.FindAttempt(id);
      const TimePoint end = attempt.stop == StopCause::kNone ? EndOf(*state.FindJob(id.job), attempt.started_at) : now;
      ends.emplace_back(std::max(now, end), HeldBy(state, attempt).size());
    }
  }
  for (const PlannedStart& start : plan.starts) {
    ends.emplace_back(EndOf(*state.FindJob(start.job), now), start.nodes.size());
  }
  std::sort(ends.begin(), ends.end());
  Shadow shadow{now, free};
  for (const auto& [end, nodes] : ends) {
    if (shadow.spare >= needed) break;
    shadow.at = end;
    shadow.spare += nodes;
  }
  // More than the cluster has now: nothing is held back for it until a node returns.
  if (shadow.spare < needed) return {TimePoint{} + Hours(24 * 365 * 10'000), 0};
  shadow.spare -= needed;
  return shadow;
}

Plan InOrder(const ClusterState& state, bool backfill, TimePoint now) {
  Plan plan;
  std::vector<NodeId> free = FreeNodes(state);
  Waiting waiting(state);
  for (; !waiting.empty() && waiting.nodes() <= free.size(); waiting.Next()) {
    plan.starts.push_back(StartOf(*state.FindJob(waiting.job()), free));
  }
  if (backfill && !waiting.empty() && !free.empty()) {
    Shadow shadow = ShadowOf(state, plan, free.size(), waiting.nodes(), now);
    while (!waiting.empty() && !free.empty()) {
      if (waiting.nodes() > free.size()) {
        waiting.DropShape();
        continue;
      }
      const Job& job = *state.FindJob(waiting.job());
      const bool in_time = EndOf(job, now) <= shadow.at;
      if (in_time || job.spec->nodes <= shadow.spare) {
        if (!in_time) shadow.spare -= job.spec->nodes;
        plan.starts.push_back(StartOf(job, free));
      }
      waiting.Next();
    }
  }
  Explain(state, free.size(), plan);
  return plan;
}

// ---- tiresias

std::int64_t GpusOf(const Job& job) {
  return std::max<std::int64_t>(1, std::int64_t{job.spec->nodes} * job.spec->gpus_per_node);
}

struct Ranked {
  bool served = false;  // in the second queue
  TimePoint submitted_at;
  JobId id;
  AttemptId live;           // none: it waits
  std::uint32_t nodes = 0;  // that it holds or needs
  friend bool operator<(const Ranked& a, const Ranked& b) {
    return std::tie(a.served, a.submitted_at, a.id) < std::tie(b.served, b.submitted_at, b.id);
  }
};

// What can be interrupted and what is free or becomes so anyway.
struct Cluster {
  std::vector<Ranked> ranked;     // running and waiting
  std::vector<NodeId> available;  // unclaimed nodes that are free or being emptied; taken from the back
  std::size_t capacity = 0;       // available and running
  TimePoint look_again;           // when the first of those that run changes its queue
};

void AddLive(const ClusterState& state, AttemptId id, TimePoint now, Cluster& cluster) {
  const Attempt& attempt = *state.FindAttempt(id);
  if (attempt.state == AttemptState::kClaimed) return;
  const std::vector<NodeId> held = HeldBy(state, attempt);
  if (attempt.stop != StopCause::kNone || attempt.open_agreement()) {
    cluster.available.insert(cluster.available.end(), held.begin(), held.end());
    return;
  }
  const Job& job = *state.FindJob(id.job);
  const std::int64_t gpus = GpusOf(job);
  const std::int64_t left = kTiresiasGpuMs - ServiceOf(job, &attempt, now).ms * gpus;
  cluster.ranked.push_back({left <= 0, job.submitted_at, job.id, id, static_cast<std::uint32_t>(held.size())});
  cluster.capacity += held.size();
  const TimePoint crosses = now + Milliseconds((left + gpus - 1) / gpus);
  const TimePoint changes{(crosses.ms + kTiresiasTick.ms - 1) / kTiresiasTick.ms * kTiresiasTick.ms};
  if (left > 0 && (!cluster.look_again || changes < cluster.look_again)) cluster.look_again = changes;
}

Cluster Look(const ClusterState& state, TimePoint now) {
  Cluster cluster;
  for (const auto& [pool, attempts] : state.index().live) {
    for (const AttemptId id : attempts) AddLive(state, id, now, cluster);
  }
  const std::vector<NodeId> free = FreeNodes(state);
  cluster.available.insert(cluster.available.end(), free.begin(), free.end());
  cluster.capacity += cluster.available.size();
  for (const auto& [shape, queue] : state.index().queue) {
    if (shape.nodes > cluster.capacity) continue;
    for (const QueueKey& key : queue) {
      const Job& job = *state.FindJob(key.id);
      const bool served = job.service.ms * GpusOf(job) >= kTiresiasGpuMs;
      cluster.ranked.push_back({served, key.submitted_at, key.id, {}, shape.nodes});
    }
  }
  std::sort(cluster.ranked.begin(), cluster.ranked.end());
  return cluster;
}

Plan ByAttainedService(const ClusterState& state, TimePoint now) {
  Plan plan;
  Cluster cluster = Look(state, now);
  std::vector<const Ranked*> starts, stays_not;
  std::size_t left = cluster.capacity, needed = 0;
  for (const Ranked& job : cluster.ranked) {
    if (job.nodes <= left) {
      left -= job.nodes;
      if (job.live) continue;
      starts.push_back(&job);
      needed += job.nodes;
    } else if (job.live) {
      stays_not.push_back(&job);
    }
  }
  // Nobody is interrupted for nothing: from the back, as many as the starts need.
  std::set<AttemptId> victims;
  std::vector<NodeId> freed;
  while (cluster.available.size() + freed.size() < needed) {
    GLIM_CHECK(!stays_not.empty(), "what fits the cluster fits the nodes that are free and those of whom it does not");
    const Attempt& victim = *state.FindAttempt(stays_not.back()->live);
    victims.insert(victim.id);
    const std::vector<NodeId> held = HeldBy(state, victim);
    freed.insert(freed.end(), held.begin(), held.end());
    stays_not.pop_back();
  }
  cluster.available.insert(cluster.available.begin(), freed.begin(), freed.end());
  for (const Ranked* job : starts) {
    PlannedStart start = StartOf(*state.FindJob(job->id), cluster.available);
    for (const NodeId node : start.nodes) {
      const AttemptId holder = state.FindNode(node)->holder;
      if (victims.erase(holder) > 0) start.victims.push_back(holder);  // the first to need it names it
    }
    plan.starts.push_back(std::move(start));
  }
  if (!state.index().queue.empty()) plan.look_again = cluster.look_again;
  Explain(state, cluster.available.size(), plan);
  return plan;
}

Plan MakeFifoPlan(const ClusterState& state, const Policy&, TimePoint now) { return InOrder(state, false, now); }
Plan MakeEasyPlan(const ClusterState& state, const Policy&, TimePoint now) { return InOrder(state, true, now); }
Plan MakeTiresiasPlan(const ClusterState& state, const Policy&, TimePoint now) { return ByAttainedService(state, now); }

}  // namespace

PlanFn PlannerOf(PlannerKind kind) {
  switch (kind) {
    case PlannerKind::kTimeSharing: break;
    case PlannerKind::kFifo: return MakeFifoPlan;
    case PlannerKind::kEasy: return MakeEasyPlan;
    case PlannerKind::kTiresias: return MakeTiresiasPlan;
  }
  return MakePlan;
}

}  // namespace glim::core
