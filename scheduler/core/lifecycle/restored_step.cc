#include "scheduler/core/lifecycle/restored_step.h"

#include <algorithm>
#include <string>

#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/model/save_reach.h"

namespace glim::core {
namespace {

struct Restored {
  std::int64_t step = -1;  // the highest that a rank has told
  bool all = true;         // every rank has
};

Restored RestoredBy(const std::vector<const Task*>& tasks) {
  Restored restored;
  for (const Task* task : tasks) {
    for (const Rank& rank : task->ranks) {
      restored.step = std::max(restored.step, rank.restored_step);
      restored.all &= rank.restored_step >= 0;
    }
  }
  return restored;
}

// Up to which step the job has lost already what the save contains: an attempt before went back, too.
std::int64_t LostDownTo(const Changes& changes, const Attempt& attempt) {
  std::int64_t step = attempt.base.step;
  for (std::uint32_t number = attempt.id.number - 1; number > 0; --number) {
    const Attempt* earlier = changes.state().FindAttempt({attempt.id.job, number});
    if (!earlier || earlier->base.attempt != attempt.base.attempt || earlier->base.path != attempt.base.path) break;
    step = std::min(step, earlier->base.step);
  }
  return step;
}

}  // namespace

void SeeRestored(Changes& changes, AttemptId id, const std::vector<const Task*>& tasks) {
  const Attempt& attempt = changes.attempt(id);
  // What is stopped before all of it was seen running may have done steps already.
  const bool has_begun = attempt.state == AttemptState::kRunning || attempt.state == AttemptState::kStopping;
  if (!has_begun || attempt.base.step < 0) return;
  const Restored restored = RestoredBy(tasks);
  if (Planted(PlantedBug::kDamagedSaveIsFree)) return;
  const bool moves_on = attempt.last_step >= 0 || attempt.durable_step >= 0;
  if (restored.step < 0 || restored.step >= attempt.base.step || (!restored.all && !moves_on)) return;
  const std::int64_t lost = std::max<std::int64_t>(0, LostDownTo(changes, attempt) - restored.step);
  const Checkpoint given = attempt.base;
  const std::string why = "its ranks did not go on from the save of " + StepOf(given) + " but from step " +
                          std::to_string(restored.step) + ": " + std::to_string(lost) +
                          (lost == 1 ? " step lost" : " steps lost");
  Checkpoint base = given;
  base.step = restored.step;
  changes.EditJob(id.job, [&](Job& job) {
    const auto is_it = [&](const Checkpoint& save) { return save.step == restored.step; };
    const auto known = std::find_if(job.older.begin(), job.older.end(), is_it);
    if (known != job.older.end() && job.durable.attempt == given.attempt && job.durable.path == given.path) {
      job.durable = base = *known;
      std::erase_if(job.older, [&](const Checkpoint& save) { return save.step >= restored.step; });
    }
    job.steps_lost += lost;
    job.message = why;
  });
  changes.EditAttempt(id, [&](Attempt& row) { row.base = base; });
  changes.Note(HistoryKind::kSaveGivenUp, id, {}, why);
}

}  // namespace glim::core
