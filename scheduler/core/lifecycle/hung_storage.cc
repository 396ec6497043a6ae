#include "scheduler/core/lifecycle/hung_storage.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/suspicion.h"
#include "scheduler/core/model/attempt_tasks.h"

namespace glim::core {

Duration NoteHungStorage(Changes& changes, const Attempt& ended) {
  std::vector<NodeId> hung_on;
  for (const Task* task : TasksOf(changes.state(), ended.id)) {
    if (!task->hung_path.empty()) hung_on.push_back(task->node);
  }
  std::uint32_t failures = 0;
  changes.EditJob(ended.id.job, [&](Job& job) {
    failures = ++job.storage_failures;
    job.message = ended.message;
    job.hung_on.insert(job.hung_on.end(), hung_on.begin(), hung_on.end());
    std::sort(job.hung_on.begin(), job.hung_on.end());
    job.hung_on.erase(std::unique(job.hung_on.begin(), job.hung_on.end()), job.hung_on.end());
  });
  const Duration longest = changes.policy().restore_backoff_max;
  Duration pause = changes.policy().start_backoff;
  for (std::uint32_t i = 1; i < failures && pause < longest; ++i) pause = pause + pause;
  return std::min(pause, longest);
}

void StorageAnswers(Changes& changes, AttemptId running) {
  if (changes.job(running.job).storage_failures == 0) return;
  std::vector<NodeId> hung_on;
  changes.EditJob(running.job, [&](Job& job) {
    job.storage_failures = 0;
    hung_on = std::exchange(job.hung_on, {});
  });
  const std::vector<NodeId> here = changes.attempt(running).nodes;
  for (const NodeId node : hung_on) {
    if (std::count(here.begin(), here.end(), node) == 0)
      Suspect(changes, node,
              "a path of job " + std::to_string(running.job.value) + " did not answer there, and does elsewhere");
  }
}

}  // namespace glim::core
