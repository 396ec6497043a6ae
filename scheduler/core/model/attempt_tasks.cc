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

std::int64_t LeastStep(const Task& task) {
  std::int64_t least = -1;
  for (std::size_t i = 0; i < task.ranks.size(); ++i) {
    least = i == 0 ? task.ranks[i].step : std::min(least, task.ranks[i].step);
  }
  return least;
}

}  // namespace glim::core
