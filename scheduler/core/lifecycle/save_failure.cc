#include "scheduler/core/lifecycle/save_failure.h"

#include <string>
#include <utility>

namespace glim::core {
namespace {

// The newest one that no durable save has made good; null: there is none. A step of -1 was not said.
const SaveFailure* NewestFailure(const std::vector<const Task*>& tasks, std::int64_t durable_step) {
  const SaveFailure* newest = nullptr;
  for (const Task* task : tasks) {
    for (const Rank& rank : task->ranks) {
      const SaveFailure& failure = rank.save_failure;
      if (failure.count == 0 || (failure.step >= 0 && failure.step <= durable_step)) continue;
      if (!newest || failure.step > newest->step) newest = &failure;
    }
  }
  return newest;
}

std::string InWords(const SaveFailure& failure) {
  const std::string which =
      failure.step < 0 ? "a save could not be made" : "step " + std::to_string(failure.step) + " could not be saved";
  return which + (failure.why.empty() ? "" : ": ") + failure.why;
}

}  // namespace

void SeeSaveFailures(Changes& changes, AttemptId id, const std::vector<const Task*>& tasks) {
  const Attempt& attempt = changes.attempt(id);
  const SaveFailure before = attempt.save_failure;
  SaveFailure now = before;
  now.count = 0;
  if (const SaveFailure* newest = NewestFailure(tasks, attempt.durable_step)) now = *newest;
  if (now == before) return;
  const bool is_first = before == SaveFailure();
  changes.EditAttempt(id, [&](Attempt& row) { row.save_failure = now; });
  if (is_first) changes.Note(HistoryKind::kSaveFailed, id, {}, InWords(now), {.step = now.step});
}

}  // namespace glim::core
