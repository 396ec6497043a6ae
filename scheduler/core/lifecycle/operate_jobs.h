// What operators, and users for their own jobs, change of jobs that are there: the class, the place, and a user's jobs
// all at once. What a job does by itself is in job_machine.h.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// Each answers in changes.reply(); a refusal changes nothing, and so does a dry run.
//
// From the next planning pass on. Its user gives it no class whose quota could not hold the job, as at its submission.
// `state`: the class in force before.
void ApplySetPriority(Changes& changes, const SetJobPriority& event);
// A starting or running job is asked to save and leave; its nodes are left out for its next attempt while others fit.
// `state`: of the job.
void ApplyMove(Changes& changes, const MoveJob& event);
// `jobs`: who is cancelled, ascending. A user who has none is no error.
void ApplyCancelUser(Changes& changes, const CancelUserJobs& event);

}  // namespace glim::core
