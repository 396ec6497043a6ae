// What falls due when time passes, and when that will next be the case.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Deadlines of agreements, starts and releases; time limits; silence; backoffs that have run out.
void ApplyTimePassed(Changes& changes);

// Silence and deadlines count from now; nothing else changes.
void ApplyOverslept(Changes& changes);

// A new leader: silence and deadlines count from now.
void ApplyLeaderStarted(Changes& changes);

// What time alone will change next.
enum class DeadlineKind : std::uint8_t {
  kNone,
  kStart,      // every task of the job must have been seen running
  kAgree,      // its ranks must have agreed on a last step
  kInterrupt,  // it must have left
  kRelease,    // its stopped tasks must have gone
  kTimeLimit,
  kBackoff,      // a job that waits out a backoff has a turn again
  kStartAfter,   // a job's first moment comes
  kSilence,      // a node that was not heard is judged
  kToken,        // one runs out
  kCordon,       // one ends, or a drain's deadline does
  kReservation,  // one begins or ends
  kStall,        // an attempt may stand still or leave its GPUs idle, or its tasks are waited for no longer
  kLemon,        // a node counts as unreliable no longer
  kValidation,   // a node is overdue, or is tried once more
};
struct Deadline {
  TimePoint at;  // 0: none
  DeadlineKind kind = DeadlineKind::kNone;
  JobId job;  // that it is of; 0: none in particular
};
Deadline NextDeadline(const ClusterState& state, const Policy& policy);
// "job 12 must have left its nodes"
std::string InWords(const Deadline& deadline);

// When the next deadline falls due; 0: none.
TimePoint NextWake(const ClusterState& state, const Policy& policy);

}  // namespace glim::core
