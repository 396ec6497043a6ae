#include "scheduler/core/model/attempt_tasks.h"

namespace glim::core {

std::vector<const Task*> TasksOf(const ClusterState& state, AttemptId attempt) {
  std::vector<const Task*> tasks;
  state.tables().tasks.VisitFrom({attempt, 0}, [&](const TaskId& id, const Task& task) {
    if (id.attempt != attempt) return false;
    tasks.push_back(&task);
    return true;
  });
  return tasks;
}

}  // namespace glim::core
