// Rows that go, and what the index had of them.
#include <utility>
#include <vector>

#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/index_entries.h"
#include "sdk/base/check.h"

namespace glim::core {

void ClusterState::Erase(const ShareId& id) {
  index_.team_service.Erase(id);
  Keep(tables_.shares.Erase(id));
}

void ClusterState::Erase(const LifeTableId& id) {
  index_.history.Erase(id);
  Keep(tables_.life_tables.Erase(id));
}

void ClusterState::Erase(const BudgetId& id) { Keep(tables_.budgets.Erase(id)); }

std::vector<AttemptId> ClusterState::AttemptsOf(JobId id) const {
  std::vector<AttemptId> attempts;
  tables_.attempts.VisitFrom({id, 0}, [&](const AttemptId& key, const Attempt&) {
    if (key.job != id) return false;
    attempts.push_back(key);
    return true;
  });
  return attempts;
}

void ClusterState::Erase(const TaskId& id) { Keep(tables_.tasks.Erase(id)); }

void ClusterState::Erase(AttemptId id) {
  const Attempt* attempt = FindAttempt(id);
  if (!attempt) return;
  GLIM_CHECK(TasksOf(*this, id).empty(), "an attempt is erased before its tasks");
  ChangeIndex(AttemptEntry(*attempt, JobOf(*attempt)), false);
  CountInterval(*attempt, false);
  Keep(tables_.attempts.Erase(id));
}

void ClusterState::EraseAttempt(AttemptId id) {
  for (const Task* task : TasksOf(*this, id)) Erase(task->id);
  Erase(id);
}

void ClusterState::Erase(JobId id) {
  const Job* job = FindJob(id);
  if (!job) return;
  GLIM_CHECK(AttemptsOf(id).empty(), "a job is erased before its attempts");
  ChangeIndex(JobEntry(*job), false);
  ListJob(job, nullptr);
  ChangeIndex(SavesEntry(*job), false);
  Keep(tables_.jobs.Erase(id));
}

void ClusterState::EraseJob(JobId id) {
  for (const AttemptId& attempt : AttemptsOf(id)) EraseAttempt(attempt);
  Erase(id);
}

void ClusterState::Erase(NodeId id) {
  const Node* node = FindNode(id);
  if (!node) return;
  ChangeIndex(NodeEntry(*node), false);
  index_.counts.Count(*node, false);
  tables_.node_ids.Erase(node->name);
  layouts_ = nullptr;
  liveness.erase(id);
  Keep(tables_.nodes.Erase(id));
}

}  // namespace glim::core
