#include "scheduler/core/model/usable_node.h"

#include "scheduler/core/model/health_rules.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {

bool IsSound(const Node& node) {
  return node.state == NodeState::kReady && node.stale_tasks.empty() && node.orphans.empty() && node.unproven.empty() &&
         node.root_error.empty() && node.fault.empty() && node.hardware_differs.empty() && !KeptAwayBy(node) &&
         (!node.cordon || Planted(PlantedBug::kCordonForgotten));
}

std::set<JobId> JobsLeftOn(const Node& node) {
  std::set<JobId> jobs;
  if (node.state == NodeState::kLost) return jobs;
  for (const AttemptId orphan : node.orphans) jobs.insert(orphan.job);
  return jobs;
}

bool WaitsToBeMeasured(const Node& node) { return node.validation.need >= ValidationNeed::kAsked; }

bool MayBeMeasured(const Node& node) {
  const NodeValidation& validation = node.validation;
  const bool due = validation.need != ValidationNeed::kNone && !validation.job && !validation.again_at;
  return due && !node.holder && !node.claim && IsSound(node);
}

bool IsUsable(const Node& node) { return IsSound(node) && !WaitsToBeMeasured(node); }

bool IsSuspect(const Node& node, TimePoint now) {
  return node.suspect_until > now || node.validation.need == ValidationNeed::kSuspicion;
}

bool IsFree(const Node& node) { return IsUsable(node) && !node.holder && !node.claim; }

bool TakesReplicas(const Node& node) {
  return node.state == NodeState::kReady && !node.replica.empty() && !node.cordon;
}

}  // namespace glim::core
