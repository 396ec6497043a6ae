#include "scheduler/server/clients/client_service.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/lifecycle/root_check.h"
#include "scheduler/core/model/quota_bounds.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/model/validate_spec.h"
#include "scheduler/server/clients/advice.h"
#include "scheduler/server/clients/history_listing.h"
#include "scheduler/server/clients/job_listing.h"
#include "scheduler/server/convert/protocol.h"
#include "scheduler/server/convert/row_convert.h"
#include "scheduler/server/convert/rpc_status.h"
#include "scheduler/wire/spec_convert.h"

namespace glim::server {
namespace {

constexpr std::size_t kRequestIdMax = 128;
constexpr std::size_t kNotesMax = 8;

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const Status& status) {
  auto* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpc(status));
  return reactor;
}

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

// In a batch a field is worth little without the number of its spec.
Status AtSpec(Status status, int index, int count) {
  if (count == 1) return status;
  const std::string at = "specs[" + std::to_string(index) + "]";
  const std::string field = status.field().empty() ? at : at + "." + status.field();
  return std::move(status).WithField(field);
}

Result<core::SubmitJobs> SubmitEvent(std::string user, const v1::SubmitRequest& request) {
  if (request.specs_size() == 0) return InvalidArgument("specs", "no job was given", "give at least one");
  if (request.specs_size() > kSpecsMax) {
    return InvalidArgument("specs", std::to_string(request.specs_size()) + " in one call are too many",
                           "submit at most " + std::to_string(kSpecsMax) + " at a time");
  }
  if (request.request_id().size() > kRequestIdMax) {
    return InvalidArgument("request_id", "is too long", "use at most " + std::to_string(kRequestIdMax) + " bytes");
  }
  core::SubmitJobs event;
  event.user = std::move(user);
  event.request_id = request.request_id();
  event.validate_only = request.validate_only();
  event.specs.reserve(static_cast<std::size_t>(request.specs_size()));
  for (int i = 0; i < request.specs_size(); ++i) {
    auto spec = wire::SpecFromProto(request.specs(i));
    if (!spec.ok()) return AtSpec(spec.status(), i, request.specs_size());
    if (Status s = core::ValidateSpec(*spec); !s.ok()) return AtSpec(std::move(s), i, request.specs_size());
    event.specs.push_back(std::move(spec).value());
  }
  return event;
}

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

}  // namespace

grpc::ServerUnaryReactor* ClientService::Submit(grpc::CallbackServerContext* context, const v1::SubmitRequest* request,
                                                v1::SubmitResponse* response) {
  auto user = CallerOf(*context);
  if (!user.ok()) return Answer(context, user.status());
  auto event = SubmitEvent(std::move(user).value(), *request);
  if (!event.ok()) return Answer(context, event.status());
  auto* reactor = context->DefaultReactor();
  auto saves = SavesOf(*event, loop_->policy()->checkpoint_root);
  const Status posted =
      loop_->Post(std::move(event).value(), [this, reactor, response, saves](const core::Reply& reply) {
        for (const core::JobId id : reply.jobs) response->add_job_ids(id.value);
        for (const std::string& words : QuotaNotes(*loop_->snapshot(), reply.jobs)) response->add_notes(words);
        for (const std::string& words : saves) response->add_saves(words);
        reactor->Finish(ToGrpc(reply.status));
      });
  if (!posted.ok()) reactor->Finish(ToGrpc(posted));
  return reactor;
}

template <typename Event, typename Request, typename Response>
grpc::ServerUnaryReactor* ClientService::PostForJob(grpc::CallbackServerContext* context, const Request& request,
                                                    Response* response) {
  auto user = CallerOf(*context);
  if (!user.ok()) return Answer(context, user.status());
  if (request.job_id() == 0) return Answer(context, InvalidArgument("job_id", "is missing", "say which job"));
  auto* reactor = context->DefaultReactor();
  const Status posted = loop_->Post(Event{core::JobId(request.job_id()), std::move(user).value()},
                                    [reactor, response](const core::Reply& reply) {
                                      response->set_state(reply.state);
                                      reactor->Finish(ToGrpc(reply.status));
                                    });
  if (!posted.ok()) reactor->Finish(ToGrpc(posted));
  return reactor;
}

grpc::ServerUnaryReactor* ClientService::Cancel(grpc::CallbackServerContext* context, const v1::CancelRequest* request,
                                                v1::CancelResponse* response) {
  return PostForJob<core::CancelJob>(context, *request, response);
}

grpc::ServerUnaryReactor* ClientService::Suspend(grpc::CallbackServerContext* context,
                                                 const v1::SuspendRequest* request, v1::SuspendResponse* response) {
  return PostForJob<core::SuspendJob>(context, *request, response);
}

grpc::ServerUnaryReactor* ClientService::Resume(grpc::CallbackServerContext* context, const v1::ResumeRequest* request,
                                                v1::ResumeResponse* response) {
  return PostForJob<core::ResumeJob>(context, *request, response);
}

grpc::ServerUnaryReactor* ClientService::ListJobs(grpc::CallbackServerContext* context,
                                                  const v1::ListJobsRequest* request, v1::ListJobsResponse* response) {
  if (auto user = CallerOf(*context); !user.ok()) return Answer(context, user.status());
  const SnapshotPtr snapshot = loop_->snapshot();
  MarkStale(context, *snapshot);
  auto list = server::ListJobs(*snapshot, *request, loop_->Now());
  if (!list.ok()) return Answer(context, list.status());
  *response = std::move(list).value();
  return Answer(context, Status::Ok());
}

grpc::ServerUnaryReactor* ClientService::GetJob(grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
                                                v1::GetJobResponse* response) {
  if (auto user = CallerOf(*context); !user.ok()) return Answer(context, user.status());
  const SnapshotPtr snapshot = loop_->snapshot();
  MarkStale(context, *snapshot);
  const core::Job* job = snapshot->tables.jobs.Find(core::JobId(request->job_id()));
  if (!job) return Answer(context, NoSuchJob(request->job_id()));
  JobToProto(*snapshot, *job, AttemptsShown::kAll, loop_->Now(), response->mutable_job());
  return Answer(context, Status::Ok());
}

// Work for the adviser: what it finds is the call's answer.
grpc::ServerUnaryReactor* ClientService::Advise(grpc::CallbackServerContext* context, std::string user,
                                                std::function<Status()> work) {
  auto* reactor = context->DefaultReactor();
  const Status taken = adviser_->Post(
      std::move(user), {std::move(work), [reactor](const Status& status) { reactor->Finish(ToGrpc(status)); }});
  if (!taken.ok()) reactor->Finish(ToGrpc(taken));
  return reactor;
}

grpc::ServerUnaryReactor* ClientService::ExplainJob(grpc::CallbackServerContext* context,
                                                    const v1::ExplainJobRequest* request,
                                                    v1::ExplainJobResponse* response) {
  auto user = CallerOf(*context);
  if (!user.ok()) return Answer(context, user.status());
  const SnapshotPtr now = loop_->snapshot();
  MarkStale(context, *now);
  if (!now->tables.jobs.Find(core::JobId(request->job_id()))) {
    return Answer(context, NoSuchJob(request->job_id()));
  }
  return Advise(context, std::move(user).value(), [this, request, response] {
    return server::ExplainJob(*loop_->snapshot(), *request, loop_->Now(), response);
  });
}

grpc::ServerUnaryReactor* ClientService::PlanJob(grpc::CallbackServerContext* context,
                                                 const v1::PlanJobRequest* request, v1::PlanJobResponse* response) {
  auto user = CallerOf(*context);
  if (!user.ok()) return Answer(context, user.status());
  if (request->specs_size() > kSpecsPlannedMax) {
    return Answer(context, InvalidArgument("specs", std::to_string(request->specs_size()) + " in one call are too many",
                                           "plan at most " + std::to_string(kSpecsPlannedMax) + " at a time"));
  }
  v1::SubmitRequest as_submitted;
  *as_submitted.mutable_specs() = request->specs();
  MarkStale(context, *loop_->snapshot());
  auto event = SubmitEvent(*user, as_submitted);
  if (!event.ok()) return Answer(context, event.status());
  return Advise(context, std::move(user).value(), [this, event = std::move(event).value(), response] {
    return server::PlanJobs(*loop_->snapshot(), event, loop_->Now(), response);
  });
}

grpc::ServerUnaryReactor* ClientService::ListNodes(grpc::CallbackServerContext* context, const v1::ListNodesRequest*,
                                                   v1::ListNodesResponse* response) {
  if (auto user = CallerOf(*context); !user.ok()) return Answer(context, user.status());
  const SnapshotPtr snapshot = loop_->snapshot();
  MarkStale(context, *snapshot);
  snapshot->tables.nodes.ForEach(
      [&](core::NodeId, const core::Node& node) { NodeToProto(*snapshot, node, response->add_nodes()); });
  std::sort(response->mutable_nodes()->pointer_begin(), response->mutable_nodes()->pointer_end(),
            [](const v1::Node* a, const v1::Node* b) { return a->name() < b->name(); });
  return Answer(context, Status::Ok());
}

grpc::ServerWriteReactor<v1::StreamLogResponse>* ClientService::StreamLog(grpc::CallbackServerContext* context,
                                                                          const v1::StreamLogRequest* request) {
  const auto user = CallerOf(*context);
  return LogStream::Open(&logs_, *request, user.ok() ? Status::Ok() : user.status());
}

grpc::ServerWriteReactor<v1::StreamEventsResponse>* ClientService::StreamEvents(
    grpc::CallbackServerContext* context, const v1::StreamEventsRequest* request) {
  const auto user = CallerOf(*context);
  return EventStream::Open(feed_, *request, user.ok() ? Status::Ok() : user.status());
}

grpc::ServerUnaryReactor* ClientService::ListHistory(grpc::CallbackServerContext* context,
                                                     const v1::ListHistoryRequest* request,
                                                     v1::ListHistoryResponse* response) {
  if (auto user = CallerOf(*context); !user.ok()) return Answer(context, user.status());
  auto query = HistoryQueryOf(*request, loop_->Now());
  if (!query.ok()) return Answer(context, query.status());
  auto* reactor = context->DefaultReactor();
  const Status posted = loop_->Read([reactor, response, query = *query](store::Store& store) {
    auto list = server::ListHistory(store, query);
    if (list.ok()) *response = std::move(list).value();
    reactor->Finish(ToGrpc(list.status()));
  });
  if (!posted.ok()) reactor->Finish(ToGrpc(posted));
  return reactor;
}

grpc::ServerUnaryReactor* ClientService::GetVersion(grpc::CallbackServerContext* context, const v1::GetVersionRequest*,
                                                    v1::GetVersionResponse* response) {
  response->set_version(kVersion);
  response->set_protocol_version(kProtocolVersions.newest);
  response->set_cluster_id(cluster_id_);
  if (const std::string& root = loop_->policy()->checkpoint_root; !root.empty()) {
    response->set_checkpoint_root(root);
    response->set_checkpoint_marker(core::RootMarkerName(cluster_id_));
  }
  return Answer(context, Status::Ok());
}

}  // namespace glim::server
