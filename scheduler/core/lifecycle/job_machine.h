// The life of a job.
//
//                       claims or takes nodes        all tasks run
//   submit --> QUEUED ------------------> STARTING ---------------> RUNNING --------> SUCCEEDED | FAILED
//                ^  ^                        |                        |  ^
//                |  |  start failed (<= 3x), |         interrupt      v  | withdrawn
//                |  |  node lost             +--------------------> INTERRUPTING
//                |  +------------------------+                        |
//                +----------------------------------------------------+  left or killed; keeps its first submission
//
//   cancel:   QUEUED, HELD -> CANCELLED at once; else CANCELLING -> CANCELLED at the release of the last node
//   suspend:  QUEUED -> HELD at once; else SUSPENDING -> HELD at the release of the last node;  resume: HELD -> QUEUED
//
// A job that waits for others (dependencies.h) is QUEUED, and not planned; it is FAILED when one of them ends otherwise
// than it asks, unless that one is to be kept. Who has used up its time limit
// (time_limit.h) does not queue again, whatever ended its attempt: it is FAILED.
//
// Only the owner may cancel, suspend or resume. Each operation answers in changes.reply(); a refusal changes nothing.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

void ApplyCancel(Changes& changes, const CancelJob& event);
void ApplySuspend(Changes& changes, const SuspendJob& event);
void ApplyResume(Changes& changes, const ResumeJob& event);

// The reason of an agreement that suspends. What the job is held with says the same. `by`: who, and why.
std::string SuspendReason(const std::string& by);

// Of a job that has not ended. `now`: also of one that is being cancelled, its processes get no time any more.
void CancelUnfinished(Changes& changes, JobId job, const std::string& why, bool now);

// An attempt of the job has ended: where the job goes from here.
void JobAfterAttempt(Changes& changes, const Attempt& ended);

// FAILED, if one of the job's dependencies is broken and not to be kept; and those that wait for it in turn.
void FailBroken(Changes& changes, JobId job);

// QUEUED again, plannable at `not_before` (0: at once). A new wait, unless the newest attempt's claims were dropped.
void Requeue(Changes& changes, JobId job, TimePoint not_before);

// Rows of ended jobs, of one user and of all, take at most this part of what those of unfinished ones may.
inline constexpr std::int64_t kEndedShare = 4;
// Jobs that measure nodes are kept beside them: this part of as many.
inline constexpr std::uint32_t kMeasuredShare = 10;
// These have just ended: drops the oldest ended jobs beyond policy.finished_jobs_kept and beyond what they may take,
// but not the first of these.
void ForgetFinished(Changes& changes, const std::vector<JobId>& just_ended);

}  // namespace glim::core
