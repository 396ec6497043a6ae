#include "scheduler/core/lifecycle/job_rights.h"

namespace glim::core {

const Job* JobToChange(Changes& changes, JobId id, const std::string& user, bool by_right) {
  const Job* job = changes.state().FindJob(id);
  if (!job) {
    changes.reply().status = Status(StatusCode::kNotFound, "no job " + std::to_string(id.value))
                                 .WithReason("NO_SUCH_JOB")
                                 .WithField("job_id")
                                 .WithFix("glim queue --all lists the jobs");
    return nullptr;
  }
  if (job->user != user && !by_right) {
    changes.reply().status =
        Status(StatusCode::kPermissionDenied, "job " + std::to_string(id.value) + " belongs to " + job->user)
            .WithReason("NOT_YOURS")
            .WithField("job_id")
            .WithFix("ask its owner");
    return nullptr;
  }
  return job;
}

void RefuseState(Changes& changes, const Job& job, const char* verb) {
  changes.reply().status = Status(StatusCode::kFailedPrecondition, "job " + std::to_string(job.id.value) + " is " +
                                                                       ToString(job.state) + ": it cannot be " + verb)
                               .WithReason("WRONG_STATE")
                               .WithField("job_id");
}

}  // namespace glim::core
