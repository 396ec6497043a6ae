#include "nodeagent/control/desired_bound.h"

#include "nodeagent/sync/wire.h"

namespace glim::nodeagent {

bool BoundTasks(v1::DesiredState* set, const std::function<bool(const TaskKey&)>& is_known) {
  if (static_cast<std::size_t>(set->tasks_size()) <= kDesiredTasksMax) return true;
  v1::DesiredState kept;
  const auto keep_if = [&](bool known) {
    for (v1::DesiredTask& task : *set->mutable_tasks()) {
      if (static_cast<std::size_t>(kept.tasks_size()) == kDesiredTasksMax) return;
      if (is_known(KeyOf(task.attempt(), task.index())) != known || !(known || task.has_stop())) continue;
      *kept.add_tasks() = task;
    }
  };
  keep_if(true);
  keep_if(false);
  set->mutable_tasks()->Swap(kept.mutable_tasks());
  return false;
}

}  // namespace glim::nodeagent
