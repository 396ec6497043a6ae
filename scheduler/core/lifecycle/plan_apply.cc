#include "scheduler/core/lifecycle/plan_apply.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/lifecycle/attempt_start.h"
#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/old_attempts.h"
#include "scheduler/core/lifecycle/replica_placement.h"
#include "scheduler/core/lifecycle/reservations.h"
#include "scheduler/core/lifecycle/yield.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/model/zone_link.h"

namespace glim::core {
namespace {

bool Contains(const std::vector<AttemptId>& ids, AttemptId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// May this start take or claim that node?
bool NodeHolds(const ClusterState& state, const PlannedStart& start, NodeId id) {
  const Node* node = state.FindNode(id);
  if (!node || !IsUsable(*node)) return false;
  const bool kept = IsKeptFrom(state, id, state.FindJob(start.job)->team);
  if (kept && !Planted(PlantedBug::kReservationForgotten)) return false;
  if (node->claim && !Contains(start.displaced, node->claim)) return false;
  if (!node->holder || Contains(start.displaced, node->holder)) return true;
  if (Contains(start.victims, node->holder)) return true;
  const Attempt* holder = state.FindAttempt(node->holder);
  return holder && (holder->stop != StopCause::kNone || holder->open_agreement());  // being emptied anyway
}

bool StillHolds(const ClusterState& state, const PlannedStart& start) {
  const Job* job = state.FindJob(start.job);
  if (!job || job->state != JobState::kQueued || job->not_before || !job->waits_for.empty()) return false;
  if (job->waits_for_save) return false;
  const std::set<NodeId> distinct(start.nodes.begin(), start.nodes.end());
  if (start.nodes.size() != job->spec->nodes || distinct.size() != start.nodes.size()) return false;
  for (const AttemptId victim : start.victims) {
    const Attempt* attempt = state.FindAttempt(victim);
    if (!attempt || attempt->stop != StopCause::kNone || attempt->open_agreement()) return false;
    if (attempt->state != AttemptState::kRunning && attempt->state != AttemptState::kStarting) return false;
  }
  for (const AttemptId displaced : start.displaced) {
    const Attempt* attempt = state.FindAttempt(displaced);
    if (!attempt || attempt->state != AttemptState::kClaimed) return false;
  }
  return std::all_of(start.nodes.begin(), start.nodes.end(), [&](NodeId n) { return NodeHolds(state, start, n); });
}

std::string Reason(const Job& job, const PlannedStart& start) {
  return "job " + std::to_string(job.id.value) + " " + job.spec->name + " (" + ToString(start.charged) + ", user " +
         job.user + ") needs " + std::to_string(start.nodes.size()) + (start.nodes.size() == 1 ? " node" : " nodes");
}

// Would they talk over the same link?
bool CrossTogether(const Attempt& a, const Attempt& b) { return Crosses(a) && Crosses(b) && LinkOf(a) == LinkOf(b); }

// Claimed attempts of a lower class give way. Victims of theirs whose nodes the new one claims, or whose link
// it needs, keep leaving, for it.
void Displace(Changes& changes, const PlannedStart& start, AttemptId by) {
  for (const AttemptId displaced : start.displaced) {
    for (const AttemptId victim : std::vector(changes.attempt(displaced).victims)) {
      const Attempt* attempt = changes.state().FindAttempt(victim);
      if (!attempt || !attempt->open_agreement()) continue;
      const bool wanted = std::any_of(start.nodes.begin(), start.nodes.end(),
                                      [&](NodeId n) { return changes.node(n).holder == victim; });
      if (!wanted && !CrossTogether(*attempt, changes.attempt(by))) continue;
      ChangePreemptor(changes, victim, by);
      changes.EditAttempt(by, [&](Attempt& row) {
        if (!Contains(row.victims, victim)) row.victims.push_back(victim);
      });
    }
    if (Planted(PlantedBug::kDoubleClaim)) continue;
    DropClaims(changes, displaced, "a more urgent job claims its nodes");
    Requeue(changes, displaced.job, {});
  }
}

// How many nodes of its leaf are in use.
std::size_t LoadOfLeaf(const Changes& changes, const Node& node) {
  const Layouts& layouts = changes.state().layouts();
  const auto pool_of = layouts.pools.find(node.labels.pool);
  if (pool_of == layouts.pools.end()) return 0;
  const PoolLayout& pool = pool_of->second;
  const std::optional<std::size_t> at = pool.IndexOf(node.id);
  if (!at) return 0;
  const std::uint32_t leaf = pool.leaves[*at];
  std::size_t load = 0;
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
    load += pool.leaves[i] == leaf && changes.node(pool.nodes[i]).holder ? 1 : 0;
  }
  return load;
}

// Of the ranks [begin, end), which are of one zone: the one on the leaf where the least goes on, the first of equals.
std::uint32_t GatewayAmong(const Changes& changes, const Attempt& attempt, std::uint32_t begin, std::uint32_t end) {
  std::uint32_t best = begin;
  std::size_t best_load = 0;
  std::string leaf;
  for (std::uint32_t rank = begin; rank < end; ++rank) {
    const Node& node = changes.node(attempt.nodes[rank]);
    if (rank > begin && node.labels.leaf == leaf) continue;  // ranks are contiguous by leaf
    leaf = node.labels.leaf;
    const std::size_t load = LoadOfLeaf(changes, node);
    if (rank > begin && load >= best_load) continue;
    best = rank;
    best_load = load;
  }
  return best;
}

// What is beyond a quota counts as low, whatever was asked for.
PriorityClass InForce(PriorityClass charged, bool borrowed) {
  return borrowed && !Planted(PlantedBug::kBorrowedKeepsItsClass) ? PriorityClass::kLow : charged;
}

Attempt NewAttempt(const Changes& changes, const Job& job, const PlannedStart& start) {
  Attempt attempt;
  attempt.id = {job.id, std::max(job.attempts, job.orphan_attempts) + 1};
  attempt.nodes = start.nodes;
  attempt.charged = start.charged;
  attempt.borrowed = start.borrowed;
  const Attempt* last = changes.state().FindAttempt({job.id, job.attempts});
  attempt.quantum = QuantumLeft(changes.policy(), last, start.quantum, changes.now());
  attempt.queued_at = job.queued_at;
  attempt.claimed_at = changes.now();
  std::vector<std::uint32_t> begins;  // the first rank of each zone
  for (std::uint32_t i = 0; i < start.nodes.size(); ++i) {
    const std::string& zone = changes.node(start.nodes[i]).labels.zone;
    if (!attempt.zones.empty() && attempt.zones.back() == zone) continue;
    attempt.zones.push_back(zone);
    begins.push_back(i);
  }
  begins.push_back(static_cast<std::uint32_t>(start.nodes.size()));
  for (std::size_t zone = 0; attempt.zones.size() > 1 && zone < attempt.zones.size(); ++zone) {
    attempt.gateways.push_back(GatewayAmong(changes, attempt, begins[zone], begins[zone + 1]));
  }
  attempt.replicas = PlaceReplicas(changes.state(), attempt.id.job, attempt.nodes);
  return attempt;
}

void AddVictims(const Changes& changes, const PlannedStart& start, Attempt& attempt) {
  attempt.victims = start.victims;
  for (const NodeId node : start.nodes) {
    const AttemptId holder = changes.node(node).holder;
    if (holder && !Contains(attempt.victims, holder) && !Contains(start.displaced, holder))
      attempt.victims.push_back(holder);
  }
}

void NoteClaimed(Changes& changes, const Attempt& attempt) {
  HistoryFacts facts{.nodes = static_cast<std::uint32_t>(attempt.nodes.size()), .nodes_free = attempt.nodes_held};
  changes.NameNodes(attempt.nodes, facts);
  std::set<JobId> victims;
  for (const AttemptId victim : attempt.victims) victims.insert(victim.job);
  for (const JobId victim : victims) {
    if (facts.jobs.size() == kHistoryJobsMax) {
      ++facts.jobs_left_out;
    } else {
      facts.jobs.push_back(victim);
    }
  }
  changes.Note(HistoryKind::kAttemptClaimed, attempt.id, {}, "", std::move(facts));
}

void Start(Changes& changes, const PlannedStart& start) {
  const Job& job = changes.job(start.job);
  Attempt attempt = NewAttempt(changes, job, start);
  AddVictims(changes, start, attempt);
  const AttemptId id = attempt.id;
  const std::string reason = Reason(job, start);
  changes.EditJob(start.job, [&](Job& row) {
    row.state = JobState::kStarting;
    row.save_in_memory = false;
    row.attempts = id.number;
    row.priority = InForce(start.charged, start.borrowed);
  });
  changes.Write(std::move(attempt));
  Displace(changes, start, id);
  std::uint32_t held = 0;
  for (const NodeId node : start.nodes) {
    changes.EditNode(node, [&](Node& row) {
      if (row.holder) {
        row.claim = id;
      } else {
        row.holder = id;
        ++held;
      }
    });
  }
  changes.EditAttempt(id, [&](Attempt& row) { row.nodes_held = held; });
  NoteClaimed(changes, changes.attempt(id));
  for (const AttemptId victim : start.victims) {
    const bool moved = victim == start.moved;
    const std::string why = moved ? reason + ", and this one has room elsewhere: it is moved" : reason;
    OpenAgreement(changes, victim, {id, why, false, false, moved});
  }
  ForgetOldAttempts(changes, id.job);
  if (held == start.nodes.size()) BeginWhenItMay(changes, id);
}

void SetBorrowed(Changes& changes, AttemptId id, bool borrowed) {
  const Attempt* attempt = changes.state().FindAttempt(id);
  if (!attempt || attempt->state == AttemptState::kEnded) return;
  changes.EditJob(id.job, [&](Job& row) { row.priority = InForce(attempt->charged, borrowed); });
  changes.EditAttempt(id, [&](Attempt& row) { row.borrowed = borrowed; });
}

}  // namespace

void ApplyPlan(Changes& changes, const Plan& plan) {
  ApplyReserved(changes, plan);
  for (const auto& [id, borrowed] : plan.borrowed) SetBorrowed(changes, id, borrowed);
  bool all = true;
  for (const PlannedStart& start : plan.starts) {
    if (StillHolds(changes.state(), start)) {
      Start(changes, start);
    } else {
      all = false;
    }
  }
  changes.SetVerdicts(plan.verdicts);
  if (!all) changes.MarkDirty();
}

}  // namespace glim::core
