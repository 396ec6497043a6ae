#include <algorithm>
#include <optional>
#include <utility>

#include "scheduler/core/model/cordon.h"
#include "scheduler/core/model/quota_bounds.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/model/spec_bytes.h"
#include "scheduler/server/clients/client_service.h"
#include "scheduler/server/clients/submit_event.h"

namespace glim::server {
namespace {

constexpr std::size_t kNotesMax = 8;

// Where the jobs' saves will lie, in words; each once.
std::vector<std::string> SavesOf(const core::SubmitJobs& event, const std::string& root) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < event.specs.size(); ++i) {
    if (i > 0 && event.specs[i].checkpoint_dir == event.specs[i - 1].checkpoint_dir) continue;
    std::string words = core::SavesInWords(event.specs[i], root);
    if (std::find(all.begin(), all.end(), words) == all.end()) all.push_back(std::move(words));
  }
  return all;
}

// Of jobs that have just been taken in: that a quota is used up, and what follows; each once.
std::vector<std::string> QuotaNotes(const Snapshot& snapshot, const std::vector<core::JobId>& jobs) {
  std::vector<std::string> notes;
  if (snapshot.tables.accounts->quotas.empty()) return notes;
  const auto add = [&notes](std::string words) {
    if (std::find(notes.begin(), notes.end(), words) == notes.end()) notes.push_back(std::move(words));
  };
  for (const core::JobId id : jobs) {
    if (notes.size() >= kNotesMax) break;
    const core::Job* job = snapshot.tables.jobs.Find(id);
    if (!job) continue;
    const core::Attempt* attempt = snapshot.tables.attempts.Find({id, job->attempts});
    if (attempt && attempt->borrowed) add(core::kBorrowedWords);
    if (job->state != core::JobState::kQueued) continue;
    const auto verdict = snapshot.verdicts->find(core::ShapeOf(*job));
    if (verdict == snapshot.verdicts->end()) continue;
    for (const core::Blocker& blocker : verdict->second) {
      if (blocker.kind == core::BlockerKind::kQuota) add(blocker.message);
    }
  }
  return notes;
}

// For the audit trail: names and sizes, never what they run.
std::string JobsInWords(const core::SubmitJobs& event) {
  const core::JobSpec& first = event.specs.front();
  const std::string words = "job " + first.name + " (nodes " + std::to_string(first.nodes) + ")";
  const std::string by = event.parent ? ", by job " + std::to_string(event.parent.value) : "";
  return event.specs.size() == 1 ? words + by : std::to_string(event.specs.size()) + " jobs, the first: " + words + by;
}

}  // namespace

grpc::ServerUnaryReactor* ClientService::Submit(grpc::CallbackServerContext* context, const v1::SubmitRequest* request,
                                                v1::SubmitResponse* response) {
  const auto rows = static_cast<std::uint64_t>(request->specs_size()) * core::kJobBytes;
  Call* const call = Call::Open(door_, context, "ClientApi/Submit", *request, {{Bound::kChanges, rows}});
  if (!call->admitted()) return call;
  auto event = SubmitEvent(call->user(), *request);
  if (!event.ok()) return call->Refuse(event.status());
  event->parent = call->caller().attempt.job;
  auto saves = SavesOf(*event, loop_->policy()->checkpoint_root);
  std::optional<AuditNote> note;  // a question changes nothing
  if (!event->validate_only) note = call->Note(JobsInWords(*event));
  const Status posted = loop_->Post(
      std::move(event).value(),
      [this, call, response, saves](const core::Reply& reply) {
        for (const core::JobId id : reply.jobs) response->add_job_ids(id.value);
        for (const std::string& words : QuotaNotes(*loop_->snapshot(), reply.jobs)) response->add_notes(words);
        for (const std::string& words : saves) response->add_saves(words);
        call->Answer(reply.status, response);
      },
      std::move(note));
  return posted.ok() ? call : call->Refuse(posted);
}

namespace {

core::CancelJob EventOf(const Call& call, const v1::CancelRequest& request) {
  return {core::JobId(request.job_id()), call.user(), call.by_right(), request.reason(), request.now()};
}
core::SuspendJob EventOf(const Call& call, const v1::SuspendRequest& request) {
  return {core::JobId(request.job_id()), call.user(), call.by_right(), request.reason()};
}
core::ResumeJob EventOf(const Call& call, const v1::ResumeRequest& request) {
  return {core::JobId(request.job_id()), call.user(), call.by_right()};
}

std::string ReasonOf(const v1::CancelRequest& request) {
  return core::WithReason(request.now() ? "cancelled, without the time to save" : "cancelled", request.reason());
}
std::string ReasonOf(const v1::SuspendRequest& request) { return core::WithReason("suspended", request.reason()); }
std::string ReasonOf(const v1::ResumeRequest&) { return "resumed"; }

Status CheckReasonOf(const v1::ResumeRequest&) { return Status::Ok(); }
template <typename Request>
Status CheckReasonOf(const Request& request) {
  return core::CheckReason(request.reason());
}

}  // namespace

template <typename Request, typename Response>
grpc::ServerUnaryReactor* ClientService::PostForJob(Call* call, const Request& request, Response* response) {
  if (!call->admitted()) return call;
  const core::JobId id(request.job_id());
  if (!id) return call->Refuse(InvalidArgument("job_id", "is missing", "say which job"));
  if (Status reason = CheckReasonOf(request); !reason.ok()) return call->Refuse(reason);
  const SnapshotPtr snapshot = loop_->snapshot();
  const core::Job* const job = snapshot->tables.jobs.Find(id);
  const std::string before = job != nullptr ? core::ToString(job->state) + (", of " + job->user) : "";
  const Status posted = loop_->Post(
      EventOf(*call, request),
      [call, response](const core::Reply& reply) {
        response->set_state(reply.state);
        call->Answer(reply.status, response);
      },
      call->Note("job " + std::to_string(id.value), before, ReasonOf(request)));
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* ClientService::Cancel(grpc::CallbackServerContext* context, const v1::CancelRequest* request,
                                                v1::CancelResponse* response) {
  return PostForJob(Call::Open(door_, context, "ClientApi/Cancel", *request), *request, response);
}

grpc::ServerUnaryReactor* ClientService::Suspend(grpc::CallbackServerContext* context,
                                                 const v1::SuspendRequest* request, v1::SuspendResponse* response) {
  return PostForJob(Call::Open(door_, context, "ClientApi/Suspend", *request), *request, response);
}

grpc::ServerUnaryReactor* ClientService::Resume(grpc::CallbackServerContext* context, const v1::ResumeRequest* request,
                                                v1::ResumeResponse* response) {
  return PostForJob(Call::Open(door_, context, "ClientApi/Resume", *request), *request, response);
}

}  // namespace glim::server
