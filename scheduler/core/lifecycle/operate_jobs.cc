#include "scheduler/core/lifecycle/operate_jobs.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/account_bars.h"
#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/job_rights.h"
#include "scheduler/core/model/cordon.h"
#include "scheduler/core/model/interrupt_terms.h"

namespace glim::core {
namespace {

// What Submit would say of the class.
Status CheckClass(const Changes& changes, const Job& job, const JobSpec& spec) {
  if (Status grace = CheckGrace(changes.policy(), spec); !grace.ok()) return grace;
  return CheckQuotaAllows(changes.state().accounts(), job.user, job.team, spec);
}

std::string Changed(const SetJobPriority& event, PriorityClass before) {
  return std::string("from ") + ToString(before) + " to " + ToString(event.priority) + " by " +
         WithReason(event.user, event.reason);
}

}  // namespace

void ApplySetPriority(Changes& changes, const SetJobPriority& event) {
  const Job* job = JobToChange(changes, event.job, event.user, event.by_right);
  if (!job) return;
  if (IsTerminal(job->state) || job->state == JobState::kCancelling) {
    return RefuseState(changes, *job, "given another priority");
  }
  auto spec = std::make_shared<JobSpec>(*job->spec);
  spec->priority = event.priority;
  if (!event.unbound) {
    if (Status may = CheckClass(changes, *job, *spec); !may.ok()) {
      changes.reply().status = std::move(may);
      return;
    }
  }
  const PriorityClass before = job->spec->priority;
  changes.reply().state = ToString(before);
  if (event.dry_run || before == event.priority) return;
  const Attempt* live = changes.state().LiveAttempt(*job);
  const bool charged_anew = live && event.priority != PriorityClass::kAuto;
  const AttemptId attempt = live ? live->id : AttemptId{};
  changes.EditJob(event.job, [&](Job& row) {
    row.spec = std::move(spec);
    row.priority_set = true;
    if (!live || charged_anew) row.priority = event.priority;
  });
  if (charged_anew) {
    changes.EditAttempt(attempt, [&](Attempt& row) {
      row.charged = event.priority;
      row.borrowed = false;  // the next pass says whether it is
    });
  }
  changes.Note(HistoryKind::kJobPriority, {event.job, changes.job(event.job).attempts}, {}, Changed(event, before));
  changes.MarkDirty();
}

void ApplyMove(Changes& changes, const MoveJob& event) {
  const Job* job = JobToChange(changes, event.job, event.by, true);
  if (!job) return;
  const Attempt* live = changes.state().LiveAttempt(*job);
  const bool begun = live && (live->state == AttemptState::kStarting || live->state == AttemptState::kRunning);
  if (!begun || live->stop != StopCause::kNone || live->open_agreement()) return RefuseState(changes, *job, "moved");
  if (!event.dry_run) {
    AgreementRequest request;
    request.reason = "moved by " + WithReason(event.by, event.reason);
    request.moved = request.by_operator = request.elsewhere = true;
    OpenAgreement(changes, live->id, request);
  }
  changes.reply().state = ToString(changes.job(event.job).state);
}

void ApplyCancelUser(Changes& changes, const CancelUserJobs& event) {
  Reply& reply = changes.reply();
  if (changes.state().index().kept.unfinished_by_user.contains(event.user)) {
    changes.state().tables().jobs.ForEach([&](JobId id, const Job& job) {
      const bool asked = IsTerminal(job.state) || (job.state == JobState::kCancelling && !event.now);
      if (job.user == event.user && !asked) reply.jobs.push_back(id);
    });
  }
  if (event.dry_run) return;
  const std::string why = "cancelled by " + WithReason(event.by, event.reason);
  // From the newest: what waits for another one has a higher number, and is to be cancelled, not to fail by that.
  std::vector<JobId> jobs = reply.jobs;
  std::sort(jobs.rbegin(), jobs.rend());
  for (const JobId id : jobs) CancelUnfinished(changes, id, why, event.now);
}

}  // namespace glim::core
