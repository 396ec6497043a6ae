#include "scheduler/server/clients/log_source.h"

#include <string>
#include <utility>

namespace glim::server {
namespace {

// Not yet, but perhaps later: who follows waits.
Status NotYet(std::string message, const std::string& fix) {
  return Status(StatusCode::kNotFound, std::move(message)).WithReason("NO_LOG_YET").WithFix(fix);
}

}  // namespace

Result<LogSource> FindLogSource(const core::Tables& tables, core::JobId job_id, std::uint32_t number,
                                std::uint32_t rank) {
  const std::string id = std::to_string(job_id.value);
  const core::Job* job = tables.jobs.Find(job_id);
  if (!job) {
    return Status(StatusCode::kNotFound, "no job " + id)
        .WithReason("NO_SUCH_JOB")
        .WithField("job_id")
        .WithFix("glim queue --all lists the jobs");
  }
  const core::Attempt* attempt = nullptr;
  if (number != 0) {
    attempt = tables.attempts.Find({job->id, number});
    if (!attempt && number < job->attempts) {
      return Status(StatusCode::kNotFound, "attempt " + std::to_string(number) + " of job " + id + " is one of the " +
                                               std::to_string(job->earlier.count) + " whose nodes are no longer kept")
          .WithReason("ATTEMPT_TOO_OLD")
          .WithField("attempt")
          .WithFix("glim events " + id + " tells of it and names the nodes where its log lies");
    }
    if (!attempt) {
      return Status(StatusCode::kNotFound, "job " + id + " has no attempt " + std::to_string(number))
          .WithReason("NO_SUCH_ATTEMPT")
          .WithField("attempt")
          .WithFix("glim status " + id + " lists them");
    }
  }
  // The newest that has started: one that still waits for its nodes has nothing to show.
  for (std::uint32_t n = job->attempts; !attempt && n > 0; --n) {
    const core::Attempt* candidate = tables.attempts.Find({job->id, n});
    if (!candidate) break;
    if (candidate->started_at) attempt = candidate;
  }
  if (!attempt || !attempt->started_at) {
    if (core::IsTerminal(job->state) || (attempt && attempt->state == core::AttemptState::kEnded)) {
      return Status(StatusCode::kNotFound, "it never started: it has no log").WithReason("NO_LOG");
    }
    return NotYet("job " + id + " has not started yet", "follow it to wait, or see glim why " + id);
  }
  const std::uint32_t per_node = job->spec->ranks_per_node();
  if (rank / per_node >= attempt->nodes.size()) {
    return Status(StatusCode::kInvalidArgument, "job " + id + " has " +
                                                    std::to_string(attempt->nodes.size() * per_node) +
                                                    " ranks, there is no rank " + std::to_string(rank))
        .WithReason("NO_SUCH_RANK")
        .WithField("rank")
        .WithFix("ranks begin at 0");
  }
  return LogSource{attempt->id, attempt->nodes, per_node, attempt->failed_rank,
                   attempt->state != core::AttemptState::kEnded};
}

}  // namespace glim::server
