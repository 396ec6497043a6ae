#include "scheduler/server/clients/operate_service.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "scheduler/core/lifecycle/cordon.h"
#include "scheduler/core/model/cordon.h"
#include "scheduler/server/clients/advice.h"
#include "scheduler/server/convert/row_convert.h"
#include "scheduler/server/convert/seen_state.h"

namespace glim::server {
namespace {

constexpr std::size_t kJobsNamedMax = 1000;

const core::Node* NodeOfName(const Snapshot& snapshot, const std::string& name) {
  const core::NodeId* const id = snapshot.tables.node_ids.Find(name);
  return id == nullptr ? nullptr : snapshot.tables.nodes.Find(*id);
}

std::string CordonNow(const Snapshot& snapshot, const std::string& name) {
  const core::Node* const node = NodeOfName(snapshot, name);
  if (node == nullptr) return "";
  return node->cordon ? core::CordonInWords(*node->cordon) : "in use";
}

std::string NeedInWords(const core::Node* node) {
  if (node == nullptr) return "";
  return node->validation.need == core::ValidationNeed::kNone
             ? "not to be measured"
             : std::string("to be measured: ") + core::ToString(node->validation.need);
}

// Whether it is cordoned, by whom, why and until when.
std::string SeenState(const core::Node* node) {
  if (node == nullptr) return "";
  if (!node->cordon) return StateOf("in use");
  const core::Cordon& cordon = *node->cordon;
  std::string words = cordon.by + "\n" + cordon.reason + "\n" + (cordon.drain ? "drain" : "cordon");
  for (const TimePoint at : {cordon.since, cordon.until, cordon.deadline}) words += "\n" + std::to_string(at.ms);
  return StateOf(words);
}

std::optional<core::Seen<core::Cordon>> ExpectedOf(const std::string& expect, const core::Node* node) {
  if (expect.empty() || node == nullptr) return std::nullopt;
  return core::Seen<core::Cordon>{node->cordon};
}

// Who is on the node now.
void AddJobsOn(const Snapshot& snapshot, const std::string& name, TimePoint now,
               google::protobuf::RepeatedPtrField<v1::Victim>* out) {
  const core::Node* const node = NodeOfName(snapshot, name);
  const core::Attempt* const holder = node == nullptr ? nullptr : snapshot.tables.attempts.Find(node->holder);
  if (holder == nullptr || holder->state == core::AttemptState::kClaimed) return;
  *out->Add() = VictimOf(snapshot, *holder, now);
}

// What a job that is stopped now without a save loses; nothing of one without nodes.
void AddAtRisk(const Snapshot& snapshot, core::JobId id, TimePoint now, v1::WeighJobsResponse* response) {
  const core::Job* const job = snapshot.tables.jobs.Find(id);
  const core::Attempt* const live = job == nullptr ? nullptr : snapshot.tables.attempts.Find({id, job->attempts});
  if (live == nullptr || live->state == core::AttemptState::kClaimed || live->state == core::AttemptState::kEnded)
    return;
  const v1::Victim cost = VictimOf(snapshot, *live, now);
  std::int64_t gpus = 0;
  for (const core::NodeId node : live->nodes) {
    const core::Node* const row = snapshot.tables.nodes.Find(node);
    if (row != nullptr) gpus += row->labels.gpu_count;
  }
  v1::JobAtRisk* const risk = response->add_jobs();
  risk->set_job_id(id.value);
  risk->set_name(cost.name());
  risk->set_user(cost.user());
  risk->set_since_save_ms(cost.since_save_ms());
  risk->set_steps_since_save(cost.steps_since_save());
  risk->set_gpu_ms(cost.since_save_ms() * gpus);
}

Status CheckWhy(const std::string& reason) {
  if (reason.empty()) return InvalidArgument("reason", "is missing", "say why: it is shown with what it changes");
  return core::CheckReason(reason);
}

}  // namespace

OperateService::OperateService(SchedulerLoop* loop, Door* door) : loop_(loop), door_(door) {}

OperateService::~OperateService() = default;

Call* OperateService::PostChange(Call* call, decltype(core::Event::what) event, bool dry_run, AuditNote note,
                                 std::function<void(const core::Reply&)> on_reply) {
  std::optional<AuditNote> told;  // a question changes nothing
  if (!dry_run) told = std::move(note);
  const Status posted = loop_->Post(std::move(event), std::move(on_reply), std::move(told));
  return posted.ok() ? call : call->Refuse(posted);
}

template <typename Response>
grpc::ServerUnaryReactor* OperateService::Cordon(Call* call, core::CordonNode event, const std::string& expect,
                                                 Response* response) {
  if (!call->admitted()) return call;
  if (Status sound = core::CheckCordon(event); !sound.ok()) return call->Refuse(sound);
  event.by = call->user();
  const SnapshotPtr before = loop_->snapshot();
  AddJobsOn(*before, event.name, loop_->Now(), response->mutable_jobs());
  const core::Node* const node = NodeOfName(*before, event.name);
  response->set_state(SeenState(node));
  if (Status s = CheckExpected(expect, response->state(), "node " + event.name); !s.ok()) return call->Refuse(s);
  event.expected = ExpectedOf(expect, node);
  const std::string after = node == nullptr ? "" : core::CordonInWords(core::CordonAfter(*node, event, loop_->Now()));
  AuditNote note = call->Note("node " + event.name, CordonNow(*before, event.name), after);
  const bool dry_run = event.dry_run;
  return PostChange(call, event, dry_run, std::move(note), [this, call, response, event](const core::Reply& reply) {
    const SnapshotPtr snapshot = loop_->snapshot();
    const core::Node* const found = reply.status.ok() ? NodeOfName(*snapshot, event.name) : nullptr;
    if (found != nullptr) {
      core::Node row = *found;
      if (event.dry_run) row.cordon = core::CordonAfter(row, event, loop_->Now());
      NodeToProto(*snapshot, row, NodeShown::kWhole, response->mutable_node());
    }
    call->Answer(reply.status, response);
  });
}

grpc::ServerUnaryReactor* OperateService::CordonNode(grpc::CallbackServerContext* context,
                                                     const v1::CordonNodeRequest* request,
                                                     v1::CordonNodeResponse* response) {
  core::CordonNode event{request->node(), "", request->reason(), Milliseconds(request->for_ms())};
  event.dry_run = request->dry_run();
  return Cordon(Call::Open(door_, context, "OperateApi/CordonNode", *request), std::move(event), request->expect(),
                response);
}

grpc::ServerUnaryReactor* OperateService::DrainNode(grpc::CallbackServerContext* context,
                                                    const v1::DrainNodeRequest* request,
                                                    v1::DrainNodeResponse* response) {
  core::CordonNode event{request->node(), "", request->reason(), Milliseconds(request->for_ms()), true};
  event.deadline = Milliseconds(request->deadline_ms());
  event.dry_run = request->dry_run();
  return Cordon(Call::Open(door_, context, "OperateApi/DrainNode", *request), std::move(event), request->expect(),
                response);
}

grpc::ServerUnaryReactor* OperateService::UncordonNode(grpc::CallbackServerContext* context,
                                                       const v1::UncordonNodeRequest* request,
                                                       v1::UncordonNodeResponse* response) {
  Call* const call = Call::Open(door_, context, "OperateApi/UncordonNode", *request);
  if (!call->admitted()) return call;
  const SnapshotPtr before = loop_->snapshot();
  const core::Node* const node = NodeOfName(*before, request->node());
  response->set_state(SeenState(node));
  if (Status s = CheckExpected(request->expect(), response->state(), "node " + request->node()); !s.ok())
    return call->Refuse(s);
  AuditNote note = call->Note("node " + request->node(), CordonNow(*before, request->node()), "in use");
  core::UncordonNode event{request->node(), call->user(), request->dry_run()};
  event.expected = ExpectedOf(request->expect(), node);
  return PostChange(call, std::move(event), request->dry_run(), std::move(note),
                    [this, call, request, response](const core::Reply& reply) {
                      const SnapshotPtr snapshot = loop_->snapshot();
                      const core::Node* const found =
                          reply.status.ok() ? NodeOfName(*snapshot, request->node()) : nullptr;
                      if (found != nullptr) {
                        core::Node row = *found;
                        row.cordon.reset();
                        NodeToProto(*snapshot, row, NodeShown::kWhole, response->mutable_node());
                      }
                      call->Answer(reply.status, response);
                    });
}

grpc::ServerUnaryReactor* OperateService::ValidateNode(grpc::CallbackServerContext* context,
                                                       const v1::ValidateNodeRequest* request,
                                                       v1::ValidateNodeResponse* response) {
  Call* const call = Call::Open(door_, context, "OperateApi/ValidateNode", *request);
  if (!call->admitted()) return call;
  const SnapshotPtr before = loop_->snapshot();
  AddJobsOn(*before, request->node(), loop_->Now(), response->mutable_jobs());
  const core::Node* const node = NodeOfName(*before, request->node());
  AuditNote note = call->Note("node " + request->node(), NeedInWords(node),
                              request->full() ? "to be measured, fully" : "to be measured");
  core::ValidateNode event{request->node(), call->user(), request->full(), {}, request->dry_run()};
  event.folders.assign(request->folders().begin(), request->folders().end());
  return PostChange(call, std::move(event), request->dry_run(), std::move(note),
                    [this, call, request, response](const core::Reply& reply) {
                      const SnapshotPtr snapshot = loop_->snapshot();
                      const core::Node* const found =
                          reply.status.ok() ? NodeOfName(*snapshot, request->node()) : nullptr;
                      if (found != nullptr) NodeToProto(*snapshot, *found, NodeShown::kWhole, response->mutable_node());
                      call->Answer(reply.status, response);
                    });
}

grpc::ServerUnaryReactor* OperateService::SetJobPriority(grpc::CallbackServerContext* context,
                                                         const v1::SetJobPriorityRequest* request,
                                                         v1::SetJobPriorityResponse* response) {
  Call* const call = Call::Open(door_, context, "OperateApi/SetJobPriority", *request);
  if (!call->admitted()) return call;
  const core::JobId id(request->job_id());
  if (!id) return call->Refuse(InvalidArgument("job_id", "is missing", "say which job"));
  if (Status why = core::CheckReason(request->reason()); !why.ok()) return call->Refuse(why);
  const auto priority = core::ParsePriority(request->priority());
  if (!priority.ok()) return call->Refuse(priority.status());
  const SnapshotPtr before = loop_->snapshot();
  const core::Job* const job = before->tables.jobs.Find(id);
  AuditNote note =
      call->Note("job " + std::to_string(id.value),
                 job == nullptr ? "" : std::string("priority ") + core::ToString(job->spec->priority),
                 core::WithReason(std::string("priority ") + core::ToString(*priority), request->reason()));
  core::SetJobPriority event;
  event.job = id;
  event.user = call->user();
  event.by_right = call->by_right();
  event.unbound = call->caller().IsOperator();
  event.priority = *priority;
  event.reason = request->reason();
  event.dry_run = request->dry_run();
  return PostChange(call, std::move(event), request->dry_run(), std::move(note),
                    [call, response, after = *priority](const core::Reply& reply) {
                      response->set_before(reply.state);
                      response->set_after(core::ToString(after));
                      call->Answer(reply.status, response);
                    });
}

grpc::ServerUnaryReactor* OperateService::UpdateJob(grpc::CallbackServerContext* context,
                                                    const v1::UpdateJobRequest* request,
                                                    v1::UpdateJobResponse* response) {
  Call* const call = Call::Open(door_, context, "OperateApi/UpdateJob", *request);
  if (!call->admitted()) return call;
  const core::JobId id(request->job_id());
  if (!id) return call->Refuse(InvalidArgument("job_id", "is missing", "say which job"));
  if (Status why = core::CheckReason(request->reason()); !why.ok()) return call->Refuse(why);
  core::UpdateJob event;
  event.job = id;
  event.user = call->user();
  event.by_right = call->by_right();
  event.unbound = call->caller().IsOperator();
  if (request->has_name()) event.name = request->name();
  if (request->has_time_limit_ms()) event.time_limit = Milliseconds(request->time_limit_ms());
  if (request->has_start_after_ms()) event.start_after = TimePoint{request->start_after_ms()};
  if (!event.name && !event.time_limit && !event.start_after) {
    return call->Refuse(InvalidArgument("name", "nothing is to be changed", "give name, time_limit or start_after"));
  }
  event.reason = request->reason();
  event.dry_run = request->dry_run();
  AuditNote note = call->Note("job " + std::to_string(id.value), "", core::WithReason("updated", request->reason()));
  return PostChange(call, std::move(event), request->dry_run(), std::move(note),
                    [call, response](const core::Reply& reply) {
                      for (const std::string& words : reply.words) response->add_changes(words);
                      call->Answer(reply.status, response);
                    });
}

grpc::ServerUnaryReactor* OperateService::MoveJob(grpc::CallbackServerContext* context,
                                                  const v1::MoveJobRequest* request, v1::MoveJobResponse* response) {
  Call* const call = Call::Open(door_, context, "OperateApi/MoveJob", *request);
  if (!call->admitted()) return call;
  const core::JobId id(request->job_id());
  if (!id) return call->Refuse(InvalidArgument("job_id", "is missing", "say which job"));
  if (Status why = CheckWhy(request->reason()); !why.ok()) return call->Refuse(why);
  const SnapshotPtr before = loop_->snapshot();
  const core::Job* const job = before->tables.jobs.Find(id);
  const core::Attempt* const live = job == nullptr ? nullptr : before->tables.attempts.Find({id, job->attempts});
  if (live != nullptr && live->state != core::AttemptState::kEnded) {
    *response->mutable_cost() = VictimOf(*before, *live, loop_->Now());
  }
  AuditNote note = call->Note("job " + std::to_string(id.value), job == nullptr ? "" : core::ToString(job->state),
                              core::WithReason("moved", request->reason()));
  core::MoveJob event{id, call->user(), request->reason(), request->dry_run()};
  return PostChange(call, std::move(event), request->dry_run(), std::move(note),
                    [call, response](const core::Reply& reply) {
                      response->set_state(reply.state);
                      call->Answer(reply.status, response);
                    });
}

grpc::ServerUnaryReactor* OperateService::WeighJobs(grpc::CallbackServerContext* context,
                                                    const v1::WeighJobsRequest* request,
                                                    v1::WeighJobsResponse* response) {
  Call* const call = Call::Open(door_, context, "OperateApi/WeighJobs", *request);
  if (!call->admitted()) return call;
  if (static_cast<std::size_t>(request->job_ids_size()) > kJobsNamedMax) {
    return call->Refuse(InvalidArgument("job_ids", "are more than 1000", "ask for them in parts"));
  }
  const SnapshotPtr snapshot = loop_->snapshot();
  for (const std::uint64_t id : request->job_ids()) {
    AddAtRisk(*snapshot, core::JobId(id), loop_->Now(), response);
  }
  call->Answer(Status::Ok(), response);
  return call;
}

grpc::ServerUnaryReactor* OperateService::CancelUserJobs(grpc::CallbackServerContext* context,
                                                         const v1::CancelUserJobsRequest* request,
                                                         v1::CancelUserJobsResponse* response) {
  Call* const call = Call::Open(door_, context, "OperateApi/CancelUserJobs", *request);
  if (!call->admitted()) return call;
  if (request->user().empty()) return call->Refuse(InvalidArgument("user", "is missing", "say whose jobs"));
  if (Status why = CheckWhy(request->reason()); !why.ok()) return call->Refuse(why);
  if (request->user() != call->user() && !call->caller().IsOperator()) {
    return call->Deny(Status(StatusCode::kPermissionDenied, "these are the jobs of " + request->user())
                          .WithReason("NOT_YOURS")
                          .WithField("user")
                          .WithFix("ask an operator"),
                      "jobs of user " + request->user());
  }
  const SnapshotPtr before = loop_->snapshot();
  AuditNote note = call->Note(
      "jobs of user " + request->user(), "",
      core::WithReason(request->now() ? "cancelled, without the time to save" : "cancelled", request->reason()));
  core::CancelUserJobs event{request->user(), call->user(), request->reason(), request->now(), request->dry_run()};
  return PostChange(call, std::move(event), request->dry_run(), std::move(note),
                    [call, response](const core::Reply& reply) {
                      response->set_count(static_cast<std::uint32_t>(reply.jobs.size()));
                      for (const core::JobId id : reply.jobs) {
                        if (static_cast<std::size_t>(response->job_ids_size()) == kJobsNamedMax) break;
                        response->add_job_ids(id.value);
                      }
                      call->Answer(reply.status, response);
                    });
}

}  // namespace glim::server
