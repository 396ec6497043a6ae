#include "scheduler/core/lifecycle/update_job.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/job_rights.h"
#include "scheduler/core/model/cordon.h"
#include "scheduler/core/model/first_start.h"
#include "scheduler/core/model/time_limit.h"
#include "scheduler/core/model/validate_spec.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/rfc3339.h"

namespace glim::core {
namespace {

std::string LimitText(Duration limit) { return limit.ms > 0 ? WriteDuration(limit) : "none"; }
std::string MomentText(TimePoint moment) { return moment ? FormatRfc3339(moment) : "at once"; }

// Others count on the limit of who has nodes.
bool Raises(Duration before, Duration after) { return before.ms > 0 && (after.ms == 0 || after > before); }

Status CheckLimit(const Job& job, const Attempt* live, const UpdateJob& event) {
  const bool raises = event.time_limit && Raises(job.spec->time_limit, *event.time_limit);
  if (!raises || live == nullptr || event.unbound) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, "job " + std::to_string(job.id.value) +
                                                     " has nodes, and others count on its time limit of " +
                                                     LimitText(job.spec->time_limit))
      .WithReason("LIMIT_IN_USE")
      .WithField("limits.time")
      .WithFix("suspend it first, or ask an operator to raise it");
}

// Who waits cannot be asked to save and leave: a limit that is used up would end it as it is.
Status CheckIsLeft(const Policy& policy, Job job, Duration limit) {
  const bool waits = job.state == JobState::kQueued || job.state == JobState::kHeld;
  auto spec = std::make_shared<JobSpec>(*job.spec);
  spec->time_limit = limit;
  job.spec = std::move(spec);
  if (!waits || !LimitUsedUp(policy, job)) return Status::Ok();
  return InvalidArgument("limits.time",
                         "job " + std::to_string(job.id.value) + " has had its nodes for " +
                             WriteDuration(Seconds(job.service.ms / 1000)) + " already, and would be over",
                         "give it more than that, or cancel it");
}

Status CheckMoment(const Job& job, const UpdateJob& event) {
  if (!event.start_after || job.attempts == 0) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, "job " + std::to_string(job.id.value) +
                                                     " has been given nodes before: start_after is of its first start")
      .WithReason("WRONG_STATE")
      .WithField("start_after")
      .WithFix("glim suspend holds it until it is resumed");
}

std::vector<std::string> Differences(const JobSpec& before, const JobSpec& after) {
  std::vector<std::string> words;
  if (before.name != after.name) words.push_back("name " + before.name + " -> " + after.name);
  if (before.time_limit != after.time_limit) {
    words.push_back("limits.time " + LimitText(before.time_limit) + " -> " + LimitText(after.time_limit));
  }
  if (before.start_after != after.start_after) {
    words.push_back("start_after " + MomentText(before.start_after) + " -> " + MomentText(after.start_after));
  }
  return words;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

void ApplyUpdate(Changes& changes, const UpdateJob& event) {
  const Job* job = JobToChange(changes, event.job, event.user, event.by_right);
  if (!job) return;
  Reply& reply = changes.reply();
  if (IsTerminal(job->state) || job->state == JobState::kCancelling) return RefuseState(changes, *job, "updated");
  auto spec = std::make_shared<JobSpec>(*job->spec);
  if (event.name) spec->name = *event.name;
  if (event.time_limit) spec->time_limit = *event.time_limit;
  if (event.start_after) spec->start_after = *event.start_after;
  reply.status = ValidateSpec(*spec);
  if (reply.status.ok()) reply.status = CheckLimit(*job, changes.state().LiveAttempt(*job), event);
  if (reply.status.ok() && event.time_limit && !event.unbound) {
    reply.status = CheckLimitInPool(changes.policy(), *spec);
  }
  if (reply.status.ok() && event.time_limit) {
    reply.status = CheckIsLeft(changes.policy(), *job, *event.time_limit);
  }
  if (reply.status.ok()) reply.status = CheckMoment(*job, event);
  if (reply.status.ok()) reply.status = CheckFirstStart(*spec, changes.now());
  if (!reply.status.ok()) return;
  reply.words = Differences(*job->spec, *spec);
  if (event.dry_run || reply.words.empty()) return;
  changes.EditJob(event.job, [&](Job& row) {
    row.spec = std::move(spec);
    row.updated = true;
    if (!event.start_after || row.state != JobState::kQueued) return;
    row.not_before = FirstStart(*row.spec, changes.now());
    row.queued_at = changes.now();
  });
  changes.Note(HistoryKind::kJobUpdated, {event.job, changes.job(event.job).attempts}, {},
               WithReason(Joined(reply.words) + ", by " + event.user, event.reason));
  changes.MarkDirty();
}

}  // namespace glim::core
