#include "scheduler/core/lifecycle/start_verdict.h"

#include <algorithm>
#include <set>

#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/image_name.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

std::string Describe(const ClusterState& state, const Task& task) {
  return "could not start on node " + state.FindNode(task.node)->name + ": " + task.message;
}

void LookForMissing(const ClusterState& state, AttemptId id, std::set<NodeId>* missing_on,
                    std::vector<NodeId>* blamed) {
  for (const Task* task : TasksOf(state, id)) {
    if (!task->start_failed || !task->path_missing) continue;
    missing_on->insert(task->node);
    if (blamed) blamed->push_back(task->node);
  }
}

bool HasRun(const ClusterState& state, AttemptId newest) {
  if (state.FindJob(newest.job)->earlier.ran) return true;
  bool ran = false;
  state.tables().attempts.VisitFrom({newest.job, 0}, [&](const AttemptId& id, const Attempt& attempt) {
    ran = ran || (id.job == newest.job && attempt.running_at);
    return !ran && id.job == newest.job;
  });
  return ran;
}

}  // namespace

StartVerdict JudgeStart(const ClusterState& state, const Attempt& ended) {
  StartVerdict verdict;
  const Task* missing = nullptr;
  bool blameless = false, other = false;
  for (const Task* task : TasksOf(state, ended.id)) {
    if (!task->start_failed) continue;
    if (task->job_fault && !Planted(PlantedBug::kOwnFaultTriedAgain)) return {true, false, Describe(state, *task), {}};
    if (task->path_missing && !missing) missing = task;
    (task->hung_path.empty() && !task->disk_fault ? other : blameless) = true;
  }
  verdict.blameless = blameless && !other;
  if (!missing) return verdict;
  std::set<NodeId> nodes;
  LookForMissing(state, ended.id, &nodes, nullptr);
  for (std::uint32_t number = ended.id.number; number > 1; --number) {
    const Attempt* earlier = state.FindAttempt({ended.id.job, number - 1});
    if (!earlier || (earlier->outcome != Outcome::kStartFailed && earlier->outcome != Outcome::kClaimDropped)) break;
    LookForMissing(state, earlier->id, &nodes, &verdict.cleared);
  }
  // A job that has run before has not changed since: a file system is missing there.
  if (nodes.size() < 2 || HasRun(state, ended.id)) return {};
  verdict.jobs_fault = true;
  verdict.message = Describe(state, *missing) + " (the same on " + std::to_string(nodes.size()) + " nodes)";
  return verdict;
}

std::vector<NodeId> SlowToStart(const ClusterState& state, const Attempt& attempt) {
  std::vector<NodeId> slow;
  // Images come from elsewhere, and take as long as that takes.
  if (RunsInImage(*state.FindJob(attempt.id.job)->spec)) return slow;
  for (const Task* task : TasksOf(state, attempt.id)) {
    const bool copies = !IsShared(attempt.base) && !HasWhole(attempt.base, task->node) && task->copy_time.ms == 0;
    if (task->phase < TaskPhase::kRunning && !copies) slow.push_back(task->node);
  }
  return slow;
}

}  // namespace glim::core
