#include "scheduler/server/clients/client_service.h"

#include <utility>

#include "scheduler/core/lifecycle/root_check.h"
#include "scheduler/jobfile/spec_printer.h"
#include "scheduler/server/clients/advice.h"
#include "scheduler/server/clients/history_listing.h"
#include "scheduler/server/clients/job_listing.h"
#include "scheduler/server/clients/node_listing.h"
#include "scheduler/server/clients/submit_event.h"
#include "scheduler/server/convert/protocol.h"
#include "scheduler/server/convert/row_convert.h"
#include "scheduler/server/door/private_parts.h"

namespace glim::server {
namespace {

// The caller is told how old it is (protocol.h); glim says so on stderr.
void MarkStale(grpc::CallbackServerContext* context, const Snapshot& snapshot) {
  if (snapshot.stale_since) context->AddInitialMetadata(kStaleSince, std::to_string(snapshot.stale_since.ms));
}

Status NoSuchJob(std::uint64_t id) {
  return Status(StatusCode::kNotFound, "no job " + std::to_string(id))
      .WithReason("NO_SUCH_JOB")
      .WithField("job_id")
      .WithFix("glim queue --all lists the jobs");
}

}  // namespace

ClientService::ClientService(SchedulerLoop* loop, AgentStrand* strand, LogBroker* broker, EventFeed* feed,
                             Adviser* adviser, HistoryDesk* desk, Door* door, StreamWatch* watch,
                             SecretAffairs* secrets, OidcAffairs* oidc, WebCodes* web_codes, std::string cluster_id)
    : loop_(loop),
      door_(door),
      adviser_(adviser),
      desk_(desk),
      secrets_(secrets),
      oidc_(oidc),
      web_codes_(web_codes),
      cluster_id_(std::move(cluster_id)),
      logs_{strand, broker, loop, door, watch},
      events_{feed, door, watch} {}

ClientService::~ClientService() = default;

grpc::ServerUnaryReactor* ClientService::ListJobs(grpc::CallbackServerContext* context,
                                                  const v1::ListJobsRequest* request, v1::ListJobsResponse* response) {
  Call* const call = Call::Open(door_, context, "ClientApi/ListJobs", *request);
  if (!call->admitted()) return call;
  const SnapshotPtr snapshot = loop_->snapshot();
  MarkStale(context, *snapshot);
  auto list = server::ListJobs(*snapshot, *request, call->caller(), loop_->Now());
  if (list.ok()) *response = std::move(list).value();
  call->Answer(list.status(), response);
  return call;
}

grpc::ServerUnaryReactor* ClientService::GetJob(grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
                                                v1::GetJobResponse* response) {
  Call* const call = Call::Open(door_, context, "ClientApi/GetJob", *request);
  if (!call->admitted()) return call;
  const SnapshotPtr snapshot = loop_->snapshot();
  MarkStale(context, *snapshot);
  const core::Job* job = snapshot->tables.jobs.Find(core::JobId(request->job_id()));
  if (!job) return call->Refuse(NoSuchJob(request->job_id()));
  JobToProto(*snapshot, *job, AttemptsShown::kAll, loop_->Now(), response->mutable_job());
  if (HasRight(call->caller(), *job)) {
    response->set_file(jobfile::PrintSpec(response->job().spec()));
  } else {
    RemovePrivateParts(response->mutable_job());
  }
  call->Answer(Status::Ok(), response);
  return call;
}

// Work for the adviser: what it finds is the call's answer.
grpc::ServerUnaryReactor* ClientService::Advise(Call* call, const google::protobuf::Message* response,
                                                std::function<Status()> work) {
  const Status taken =
      adviser_->Post(call->caller().user, call->caller().peer,
                     {std::move(work), [call, response](const Status& status) { call->Answer(status, response); }});
  return taken.ok() ? call : call->Refuse(taken);
}

grpc::ServerUnaryReactor* ClientService::ExplainJob(grpc::CallbackServerContext* context,
                                                    const v1::ExplainJobRequest* request,
                                                    v1::ExplainJobResponse* response) {
  Call* const call = Call::Open(door_, context, "ClientApi/ExplainJob", *request);
  if (!call->admitted()) return call;
  const SnapshotPtr now = loop_->snapshot();
  MarkStale(context, *now);
  const core::Job* const job = now->tables.jobs.Find(core::JobId(request->job_id()));
  if (job == nullptr) return call->Refuse(NoSuchJob(request->job_id()));
  const bool all = HasRight(call->caller(), *job);
  return Advise(call, response, [this, request, response, all] {
    const Status explained = server::ExplainJob(*loop_->snapshot(), *request, loop_->Now(), response);
    if (!all) RemovePrivateParts(response->mutable_job());
    return explained;
  });
}

grpc::ServerUnaryReactor* ClientService::PlanJob(grpc::CallbackServerContext* context,
                                                 const v1::PlanJobRequest* request, v1::PlanJobResponse* response) {
  Call* const call = Call::Open(door_, context, "ClientApi/PlanJob", *request);
  if (!call->admitted()) return call;
  if (request->specs_size() > kSpecsPlannedMax) {
    return call->Refuse(InvalidArgument("specs", std::to_string(request->specs_size()) + " in one call are too many",
                                        "plan at most " + std::to_string(kSpecsPlannedMax) + " at a time"));
  }
  v1::SubmitRequest as_submitted;
  *as_submitted.mutable_specs() = request->specs();
  MarkStale(context, *loop_->snapshot());
  auto event = SubmitEvent(call->user(), as_submitted);
  if (!event.ok()) return call->Refuse(event.status());
  return Advise(call, response, [this, event = std::move(event).value(), response] {
    return server::PlanJobs(*loop_->snapshot(), event, loop_->Now(), response);
  });
}

grpc::ServerUnaryReactor* ClientService::ListNodes(grpc::CallbackServerContext* context,
                                                   const v1::ListNodesRequest* request,
                                                   v1::ListNodesResponse* response) {
  Call* const call = Call::Open(door_, context, "ClientApi/ListNodes", *request);
  if (!call->admitted()) return call;
  const SnapshotPtr snapshot = loop_->snapshot();
  MarkStale(context, *snapshot);
  auto list = server::ListNodes(*snapshot, *request);
  if (list.ok()) *response = std::move(list).value();
  if (!call->caller().IsOperator()) {
    for (v1::Node& node : *response->mutable_nodes()) RemovePrivateParts(&node);
  }
  call->Answer(list.status(), response);
  return call;
}

grpc::ServerWriteReactor<v1::StreamLogResponse>* ClientService::StreamLog(grpc::CallbackServerContext* context,
                                                                          const v1::StreamLogRequest* request) {
  return LogStream::Open(&logs_, context, *request, AdmitStream(door_, *context, "ClientApi/StreamLog", *request));
}

grpc::ServerWriteReactor<v1::StreamEventsResponse>* ClientService::StreamEvents(
    grpc::CallbackServerContext* context, const v1::StreamEventsRequest* request) {
  return EventStream::Open(&events_, context, *request,
                           AdmitStream(door_, *context, "ClientApi/StreamEvents", *request));
}

grpc::ServerUnaryReactor* ClientService::ListHistory(grpc::CallbackServerContext* context,
                                                     const v1::ListHistoryRequest* request,
                                                     v1::ListHistoryResponse* response) {
  Call* const call = Call::Open(door_, context, "ClientApi/ListHistory", *request, {{Bound::kReads, 1}});
  if (!call->admitted()) return call;
  auto query = HistoryQueryOf(*request, loop_->Now());
  if (!query.ok()) return call->Refuse(query.status());
  const auto read = [call, response, request, query = *query](store::HistoryReader& store) {
    auto list = server::ListHistory(store, *request, query);
    if (list.ok()) *response = std::move(list).value();
    for (v1::EndedJob& job : *response->mutable_jobs()) {
      if (!HasRight(call->caller(), job.user(), job.team())) RemovePrivateParts(&job);
    }
    return list.status();
  };
  const auto answer = [call, response](const Status& status) { call->Answer(status, response); };
  const Status posted = IsFiltered(*request)
                            ? desk_->PostPage(call->caller().peer, read, answer)
                            : loop_->Read([read, answer](store::Store& store) { answer(read(store)); });
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* ClientService::GetVersion(grpc::CallbackServerContext* context,
                                                    const v1::GetVersionRequest* request,
                                                    v1::GetVersionResponse* response) {
  Call* const call = Call::Open(door_, context, "ClientApi/GetVersion", *request);
  if (!call->admitted()) return call;
  response->set_version(kVersion);
  response->set_protocol_version(kProtocolVersions.newest);
  response->set_cluster_id(cluster_id_);
  if (const std::string& root = loop_->policy()->checkpoint_root; !root.empty()) {
    response->set_checkpoint_root(root);
    response->set_checkpoint_marker(core::RootMarkerName(cluster_id_));
  }
  call->Answer(Status::Ok(), response);
  return call;
}

grpc::ServerUnaryReactor* ClientService::WhoAmI(grpc::CallbackServerContext* context, const v1::WhoAmIRequest* request,
                                                v1::WhoAmIResponse* response) {
  Call* const call = Call::Open(door_, context, "ClientApi/WhoAmI", *request);
  if (!call->admitted()) return call;
  const Caller& caller = call->caller();
  const SnapshotPtr snapshot = loop_->snapshot();
  response->set_user(caller.user);
  response->set_role(core::ToString(caller.role));
  response->set_token(caller.token);
  response->set_scope(core::ToString(caller.scope));
  response->set_expires_at_ms(caller.expires_at.ms);
  for (const std::string& team : caller.admin_of) response->add_admin_of(team);
  const auto& users = snapshot->tables.accounts->users;
  if (const auto user = users.find(caller.user); user != users.end()) {
    for (const std::string& team : user->second.teams) response->add_teams(team);
  }
  call->Answer(Status::Ok(), response);
  return call;
}

}  // namespace glim::server
