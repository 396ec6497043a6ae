#include "scheduler/core/lifecycle/attempt_stop.h"

#include "sdk/base/check.h"

namespace glim::core {

void StopTasks(Changes& changes, AttemptId id, StopCause cause, const std::string& message) {
  const Attempt& before = changes.attempt(id);
  GLIM_CHECK(before.state != AttemptState::kClaimed, "a claimed attempt has no tasks to stop");
  if (before.state == AttemptState::kEnded || before.stop != StopCause::kNone) return;
  changes.EditAttempt(id, [&](Attempt& attempt) {
    attempt.state = AttemptState::kStopping;
    attempt.stop = cause;
    attempt.stop_at = changes.now();
    attempt.message = message;
  });
  if (cause != StopCause::kFinished) changes.Note(HistoryKind::kAttemptStopping, id, {}, message, {.stop = cause});
  changes.SyncAttempt(changes.attempt(id));
}

}  // namespace glim::core
