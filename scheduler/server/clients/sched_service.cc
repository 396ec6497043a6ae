#include "scheduler/server/clients/sched_service.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "scheduler/core/advice/what_if.h"
#include "scheduler/core/lifecycle/timers.h"
#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/clients/history_export.h"
#include "sdk/base/rfc3339.h"

namespace glim::server {
namespace {

void TimingToProto(const Timings& timings, v1::Timing* out) {
  out->set_count(timings.count);
  out->set_last_us(timings.last_us);
  out->set_p50_us(timings.p50_us);
  out->set_p99_us(timings.p99_us);
  out->set_max_us(timings.max_us);
  out->set_over(static_cast<std::uint32_t>(timings.over));
  out->set_over_ms(timings.in.ms);
}

// What falls due then, in words: a timer of the core, or the planner's own.
std::string DueInWords(const Snapshot& snapshot, const PassFigures& figures) {
  if (!figures.next_deadline) return "";
  if (figures.next_deadline == figures.look_again) return "the planner looks again: what protects a job from it ends";
  return core::InWords(core::NextDeadline(CopyOfState(snapshot), *snapshot.policy));
}

void StatusToProto(const SchedulerLoop& loop, const std::string& policy_source, v1::GetSchedStatusResponse* out) {
  const SnapshotPtr snapshot = loop.snapshot();
  const PassFigures figures = loop.passes();
  TimingToProto(figures.passes, out->mutable_passes());
  TimingToProto(figures.commits, out->mutable_commits());
  out->set_epoch(snapshot->epoch);
  out->set_leads_since_ms(loop.leads_since().ms);
  out->set_last_pass_at_ms(figures.last_pass_at.ms);
  out->set_last_pass_woken_by(figures.last_woken_by);
  for (const auto& [by, count] : figures.woken_by) {
    v1::Wakes* const wakes = out->add_wakes();
    wakes->set_by(by);
    wakes->set_count(count);
  }
  out->set_starts(figures.starts);
  std::uint64_t live = 0;
  for (const auto& [key, count] : snapshot->counts->jobs) {
    const bool waits = key.second == core::JobState::kQueued || key.second == core::JobState::kHeld;
    if (!waits && !core::IsTerminal(key.second)) live += count;
  }
  out->set_jobs_queued(static_cast<std::uint32_t>(snapshot->counts->JobsIn(core::JobState::kQueued)));
  out->set_jobs_live(static_cast<std::uint32_t>(live));
  out->set_inbox(static_cast<std::uint32_t>(loop.waiting()));
  out->set_next_deadline_at_ms(figures.next_deadline.ms);
  out->set_next_deadline(DueInWords(*snapshot, figures));
  out->set_store(loop.store_name());
  out->set_store_away_since_ms(snapshot->stale_since.ms);
  out->set_store_away_why(snapshot->stale_why);
  out->set_policy_source(policy_source);
  out->set_policy_since_ms(loop.policy_since().ms);
  out->set_now_ms(loop.Now().ms);
}

// What to ask instead about a job that does not wait.
Status NotQueued(const Snapshot& snapshot, const core::Job& job) {
  const std::string id = std::to_string(job.id.value);
  std::string message = "job " + id + " is " + core::ToString(job.state);
  const core::Attempt* const attempt = snapshot.tables.attempts.Find({job.id, job.attempts});
  if (attempt != nullptr && attempt->started_at && !core::IsTerminal(job.state)) {
    message += ", attempt " + std::to_string(job.attempts) + " since " + FormatRfc3339(attempt->started_at);
  }
  const bool ended = core::IsTerminal(job.state);
  return Status(StatusCode::kFailedPrecondition, message + ": no decision about its start is to be made")
      .WithReason("NOT_QUEUED")
      .WithField("job_id")
      .WithFix(ended ? "glim events " + id + " tells what was decided about it"
                     : "glim status " + id + " shows where it runs, glim events " + id + " how it came there");
}

Status Trace(const Snapshot& snapshot, core::JobId id, TimePoint now, v1::TraceJobResponse* response) {
  core::WhatIf what_if(CopyOfState(snapshot), *snapshot.policy, now);
  const core::WhatIf::Traced traced = what_if.Trace(id);
  response->set_job_id(id.value);
  response->set_verdict(traced.starts ? "starts" : "waits");
  response->set_steps_left_out(traced.left_out);
  response->set_at_ms(now.ms);
  for (const core::TraceStep& step : traced.steps) {
    v1::TraceStep* const out = response->add_steps();
    out->set_stage(core::WordOf(step.stage));
    out->set_message(step.message);
    for (const core::NodeId node : step.nodes) out->add_nodes(what_if.state().FindNode(node)->name);
    for (const core::JobId other : step.jobs) out->add_job_ids(other.value);
  }
  return Status::Ok();
}

}  // namespace

SchedService::SchedService(SchedulerLoop* loop, Adviser* adviser, HistoryDesk* desk, Door* door,
                           std::string policy_source)
    : loop_(loop), adviser_(adviser), desk_(desk), door_(door), policy_source_(std::move(policy_source)) {}

SchedService::~SchedService() = default;

grpc::ServerUnaryReactor* SchedService::Advise(Call* call, const google::protobuf::Message* response,
                                               std::function<Status()> work) {
  const Status taken =
      adviser_->Post(call->caller().user, call->caller().peer,
                     {std::move(work), [call, response](const Status& status) { call->Answer(status, response); }});
  return taken.ok() ? call : call->Refuse(taken);
}

grpc::ServerUnaryReactor* SchedService::GetSchedStatus(grpc::CallbackServerContext* context,
                                                       const v1::GetSchedStatusRequest* request,
                                                       v1::GetSchedStatusResponse* response) {
  Call* const call = Call::Open(door_, context, "SchedApi/GetSchedStatus", *request);
  if (!call->admitted()) return call;
  return Advise(call, response, [this, response] {
    StatusToProto(*loop_, policy_source_, response);
    return Status::Ok();
  });
}

grpc::ServerUnaryReactor* SchedService::TraceJob(grpc::CallbackServerContext* context,
                                                 const v1::TraceJobRequest* request, v1::TraceJobResponse* response) {
  Call* const call = Call::Open(door_, context, "SchedApi/TraceJob", *request);
  if (!call->admitted()) return call;
  const SnapshotPtr snapshot = loop_->snapshot();
  const core::JobId id(request->job_id());
  const core::Job* const job = snapshot->tables.jobs.Find(id);
  if (job == nullptr) {
    return call->Refuse(Status(StatusCode::kNotFound, "no job " + std::to_string(request->job_id()))
                            .WithReason("NO_SUCH_JOB")
                            .WithField("job_id")
                            .WithFix("glim queue --all lists the jobs"));
  }
  if (job->state != core::JobState::kQueued) return call->Refuse(NotQueued(*snapshot, *job));
  return Advise(call, response,
                [this, snapshot, id, response] { return Trace(*snapshot, id, loop_->Now(), response); });
}

grpc::ServerUnaryReactor* SchedService::ExportHistory(grpc::CallbackServerContext* context,
                                                      const v1::ExportHistoryRequest* request,
                                                      v1::ExportHistoryResponse* response) {
  Call* const call = Call::Open(door_, context, "SchedApi/ExportHistory", *request, {{Bound::kReads, 1}});
  if (!call->admitted()) return call;
  const TimePoint now = loop_->Now();
  auto query = ExportQueryOf(*request, now);
  if (!query.ok()) return call->Refuse(query.status());
  const SnapshotPtr snapshot = request->page_token().empty() ? loop_->snapshot() : nullptr;
  const Status posted = desk_->PostPage(
      call->caller().peer,
      [snapshot, now, request, query = std::move(query).value(), response](store::HistoryReader& reader) {
        if (snapshot) ExportPresent(*snapshot, now, response);
        return ExportEnded(reader, *request, query, response);
      },
      [call, response](const Status& status) { call->Answer(status, response); });
  return posted.ok() ? call : call->Refuse(posted);
}

}  // namespace glim::server
