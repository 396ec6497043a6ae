#include "scheduler/core/lifecycle/restore_verdict.h"

#include <algorithm>
#include <set>

#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

bool SaysItCouldNot(const Task& task) {
  return task.save_missing || std::any_of(task.ranks.begin(), task.ranks.end(),
                                          [](const Rank& rank) { return !rank.restore_failed.empty(); });
}

bool IsSameSave(const Checkpoint& a, const Checkpoint& b) {
  return a.step == b.step && a.attempt == b.attempt && a.path == b.path;
}

void AddFailed(const ClusterState& state, AttemptId id, std::set<NodeId>* nodes) {
  for (const Task* task : TasksOf(state, id)) {
    if (SaysItCouldNot(*task)) nodes->insert(task->node);
  }
}

// Ascending; a job's attempts in a row that came to nothing keep their tasks (old_attempts.h).
std::set<NodeId> FailedOn(const ClusterState& state, const Attempt& ended) {
  std::set<NodeId> nodes;
  AddFailed(state, ended.id, &nodes);
  for (std::uint32_t number = ended.id.number; number > 1; --number) {
    const Attempt* earlier = state.FindAttempt({ended.id.job, number - 1});
    if (!earlier || !IsSameSave(earlier->base, ended.base)) break;
    if (earlier->outcome != Outcome::kRestoreFailed && earlier->outcome != Outcome::kClaimDropped) break;
    AddFailed(state, earlier->id, &nodes);
  }
  return nodes;
}

bool Had(const Checkpoint& save, NodeId node) {
  return HasWhole(save, node) || std::binary_search(save.parts.begin(), save.parts.end(), node);
}

std::string NotThere(const ClusterState& state, const Attempt& ended, const RestoreVerdict& verdict) {
  return "the save of " + StepOf(ended.base) + " that the job told of cannot be had on " +
         NamesOfNodes(state.tables(), verdict.failed_on) + ": " + ended.message;
}

}  // namespace

RestoreVerdict JudgeRestore(const ClusterState& state, const Attempt& ended, std::uint32_t failures) {
  RestoreVerdict verdict;
  const std::set<NodeId> failed_on = FailedOn(state, ended);
  verdict.failed_on.assign(failed_on.begin(), failed_on.end());
  if (!IsShared(ended.base)) {
    for (const Task* task : TasksOf(state, ended.id)) {
      if (task->save_missing && Had(ended.base, task->node)) verdict.suspected.push_back(task->node);
    }
    return verdict;
  }
  const Job& job = *state.FindJob(ended.id.job);
  if (failures > job.spec->restart_max + 1) {
    verdict.jobs_fault = NotThere(state, ended, verdict) +
                         "; restart.max is reached: " + std::to_string(job.spec->restart_max) +
                         " without a save that is there";
    return verdict;
  }
  verdict.take_older = failures >= kTriesOfASave && failed_on.size() > 1 && !job.older.empty() &&
                       job.spec->if_unreachable == IfUnreachable::kOlder && IsSameSave(job.durable, ended.base);
  return verdict;
}

}  // namespace glim::core
