// Rows that go, and what the index had of them.
#include <utility>
#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

void ClusterState::Erase(const ShareId& id) {
  index_.team_service.Erase(id);
  Keep(tables_.shares.Erase(id));
}

void ClusterState::Erase(const LifeTableId& id) {
  index_.history.Erase(id);
  Keep(tables_.life_tables.Erase(id));
}

void ClusterState::EraseTasks(AttemptId id) {
  std::vector<TaskId> tasks;
  tables_.tasks.VisitFrom({id, 0}, [&](const TaskId& key, const Task&) {
    if (key.attempt != id) return false;
    tasks.push_back(key);
    return true;
  });
  for (const TaskId& task : tasks) Keep(tables_.tasks.Erase(task));
}

void ClusterState::EraseAttempt(AttemptId id) {
  const Attempt* attempt = FindAttempt(id);
  if (!attempt) return;
  EraseTasks(id);
  ChangeIndex(AttemptEntry(*attempt, JobOf(*attempt)), false);
  Keep(tables_.attempts.Erase(id));
}

void ClusterState::EraseJob(JobId id) {
  const Job* job = FindJob(id);
  if (!job) return;
  std::vector<AttemptId> attempts;
  tables_.attempts.VisitFrom({id, 0}, [&](const AttemptId& key, const Attempt& row) {
    if (key.job != id) return false;
    attempts.push_back(key);
    ChangeIndex(AttemptEntry(row, *job), false);
    CountInterval(row, false);
    return true;
  });
  std::vector<TaskId> tasks;
  tables_.tasks.VisitFrom({{id, 0}, 0}, [&](const TaskId& key, const Task&) {
    if (key.attempt.job != id) return false;
    tasks.push_back(key);
    return true;
  });
  for (const auto& task : tasks) Keep(tables_.tasks.Erase(task));
  for (const auto& attempt : attempts) Keep(tables_.attempts.Erase(attempt));
  ChangeIndex(JobEntry(*job), false);
  ListJob(job, nullptr);
  ChangeIndex(SavesEntry(*job), false);
  Keep(tables_.jobs.Erase(id));
}

void ClusterState::EraseNode(NodeId id) {
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
