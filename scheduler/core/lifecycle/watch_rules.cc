#include "scheduler/core/lifecycle/watch_rules.h"

#include <algorithm>

#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

constexpr std::int64_t kRestores = 5;  // a restore may take so many times as long as the last one

bool IsRestoring(const ClusterState& state, const Attempt& attempt) {
  if (attempt.base.step < 0 || attempt.last_step >= 0 || attempt.durable_step >= 0) return false;
  for (const Task* task : TasksOf(state, attempt.id)) {
    for (const Rank& rank : task->ranks) {
      if (rank.restored_step >= 0) return false;
    }
  }
  return true;
}

void MoveLook(WatchBook& book, AttemptId id, TimePoint due) {
  Watched& watched = book.attempts.at(id);
  if (watched.due) book.due.erase({watched.due, id});
  watched.due = due;
  if (due) book.due.insert({due, id});
}

}  // namespace

Duration AwayFrom(const Policy& policy) { return policy.node_lost_after / 4; }

bool MayBeJudged(const ClusterState& state, const Attempt& attempt) {
  return attempt.state == AttemptState::kRunning && attempt.stop == StopCause::kNone && !attempt.open_agreement() &&
         state.FindJob(attempt.id.job)->state == JobState::kRunning;
}

TimePoint RestoreBy(const Changes& changes, const Attempt& attempt) {
  if (!IsRestoring(changes.state(), attempt)) return {};
  const Duration measured = changes.job(attempt.id.job).restore_cost * kRestores;
  if (Planted(PlantedBug::kHangBeforeRestore)) return changes.now() + Hours(1);
  return attempt.running_at + std::max(changes.policy().health.no_progress_min, measured);
}

bool AllNodesAreHeard(const Changes& changes, const Attempt& attempt) {
  if (Planted(PlantedBug::kSilenceIsHang)) return true;
  const auto& liveness = changes.state().liveness;
  return std::all_of(attempt.nodes.begin(), attempt.nodes.end(), [&](NodeId node) {
    const auto live = liveness.find(node);
    return live != liveness.end() && live->second.session != 0 &&
           changes.now() - live->second.last_heard < AwayFrom(changes.policy());
  });
}

TimePoint GpusDue(const Changes& changes, const Attempt& attempt, const Watched& watched) {
  const IdleGpusPolicy& idle = changes.policy().health.idle_gpus;
  if (idle.warn_after.ms == 0 || !watched.gpu_last) return {};
  if (!attempt.gpus_idle_since) return watched.gpu_last + idle.warn_after;
  if (idle.suspend_after.ms == 0) return {};
  return watched.gpu_last + idle.warn_after + idle.suspend_after;
}

TimePoint NextGpuLook(const Changes& changes, AttemptId id) {
  const TimePoint due = GpusDue(changes, changes.attempt(id), changes.state().watch.attempts.at(id));
  if (!due || due > changes.now()) return due;
  return changes.now() + changes.policy().node_lost_after;  // it waits for its nodes, or the policy was another one
}

void LookAt(Changes& changes, AttemptId id, TimePoint due) {
  const TimePoint gpus = NextGpuLook(changes, id);
  MoveLook(changes.watch(), id, due && gpus ? std::min(due, gpus) : std::max(due, gpus));
}

void LookNoLater(Changes& changes, AttemptId id, TimePoint due) {
  const TimePoint known = changes.watch().attempts.at(id).due;
  if (due && (!known || due < known)) MoveLook(changes.watch(), id, due);
}

}  // namespace glim::core
