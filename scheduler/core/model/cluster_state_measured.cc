// Nodes that are measured by themselves: what of a node's row says whether a job may be there, and what the index has
// of that.
#include <utility>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/health_rules.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

template <typename Set, typename Value>
void PutOrErase(Set& set, const Value& value, bool add) {
  if (add) {
    set.insert(value);
  } else {
    set.erase(value);
  }
}

}  // namespace

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

void ClusterState::IndexValidation(const Node& row, bool add) {
  const NodeValidation& validation = row.validation;
  if (validation.job) PutOrErase(index_.measuring, row.id, add);
  if (validation.again_at) PutOrErase(index_.measure_again, std::pair(validation.again_at, row.id), add);
  if (MayBeMeasured(row)) {
    PutOrErase(index_.to_measure, MeasureKey{-static_cast<int>(validation.need), validation.since, row.id}, add);
  }
  if (validation.need == ValidationNeed::kNone && !validation.job) {
    PutOrErase(index_.found_good, std::pair(validation.good_at, row.id), add);
  }
}

}  // namespace glim::core
