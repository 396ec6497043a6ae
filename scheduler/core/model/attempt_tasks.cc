#include "scheduler/core/model/attempt_tasks.h"

#include <algorithm>

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

bool ExitIsKnown(const Task& task) {
  if (task.phase < TaskPhase::kExited) return false;
  const auto exited = std::count_if(task.ranks.begin(), task.ranks.end(), [](const Rank& rank) { return rank.exited; });
  if (exited == 0) return false;
  return task.exit_code != 0 || static_cast<std::size_t>(exited) == task.ranks.size();
}

}  // namespace glim::core
