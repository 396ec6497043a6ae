// How long a job waited for an attempt: the sums that the history and the reports tell. Pure.
#pragma once

#include "scheduler/core/model/rows.h"

namespace glim::core {

// Until it had all its nodes, or was over. Whose claims were dropped waits on: if `next_wait`, the begin of the job's
// wait behind this attempt (0: none), is that of this attempt, then that wait counts for both.
inline Duration WaitedFor(const Attempt& attempt, TimePoint next_wait) {
  const TimePoint until = attempt.started_at ? attempt.started_at : attempt.ended_at;
  const bool goes_on = attempt.outcome == Outcome::kClaimDropped && next_wait == attempt.queued_at;
  return until && !goes_on ? until - attempt.queued_at : Duration{};
}

}  // namespace glim::core
