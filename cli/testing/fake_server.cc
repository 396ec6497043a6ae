#include "cli/testing/fake_server.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "cli/testing/fake_identity.h"
#include "cli/testing/fake_layout.h"
#include "cli/testing/fake_operate.h"
#include "cli/testing/fake_report.h"
#include "cli/testing/fake_reserve.h"
#include "cli/testing/fake_sched.h"
#include "glim/v1/log_api.grpc.pb.h"
#include "sdk/base/testing/waits.h"

namespace glim::cli {
namespace {

using grpc::ServerContext;
using grpc::Status;
using namespace glim::v1;  // NOLINT(build/namespaces): a test double made of little else

Status NoJob(std::uint64_t id) {
  return Refusal(grpc::StatusCode::NOT_FOUND, "no job " + std::to_string(id), "NO_SUCH_JOB", "job_id",
                 "'glim queue --all' lists the jobs");
}

}  // namespace

class FakeServer::ClientService : public FakeUserCalls {
 public:
  explicit ClientService(FakeDesk* owner) : FakeUserCalls(owner), owner_(owner) {}

  Status Submit(ServerContext* context, const SubmitRequest* request, SubmitResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    state->submits.push_back(*request);
    if (request->validate_only()) return Status::OK;
    SubmitRequest body = *request;
    body.clear_request_id();
    const std::string text = body.SerializeAsString();
    const auto [known, fresh] = state->requests.emplace(request->request_id(), text);
    if (!fresh && known->second != text) {
      return Refusal(grpc::StatusCode::ALREADY_EXISTS, "this request_id was used for other specs", "REQUEST_ID_REUSED",
                     "request_id", "leave it out");
    }
    auto& ids = state->ids[request->request_id()];
    for (int i = 0; fresh && i < request->specs_size(); ++i) {
      const std::uint64_t id = state->next_job_id++;
      ids.push_back(id);
      Job job;
      job.set_id(id);
      job.set_state("succeeded");
      *job.mutable_spec() = request->specs(i);
      state->jobs[id] = std::move(job);
    }
    for (const std::uint64_t id : ids) response->add_job_ids(id);
    return Status::OK;
  }

  Status Cancel(ServerContext* context, const CancelRequest* request, CancelResponse* response) override {
    owner_->Lock()->cancels.push_back(*request);
    return Change(*context, request->job_id(), "cancelling", response);
  }
  Status Suspend(ServerContext* context, const SuspendRequest* request, SuspendResponse* response) override {
    owner_->Lock()->suspends.push_back(*request);
    return Change(*context, request->job_id(), "suspending", response);
  }
  Status Resume(ServerContext* context, const ResumeRequest* request, ResumeResponse* response) override {
    return Change(*context, request->job_id(), "queued", response);
  }

  // One job a page, so that the client has to turn pages.
  Status ListJobs(ServerContext* context, const ListJobsRequest* request, ListJobsResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    state->list_jobs_requests.push_back(*request);
    const std::uint64_t after = request->page_token().empty() ? 0 : std::stoull(request->page_token());
    for (auto it = state->jobs.upper_bound(after); it != state->jobs.end(); ++it) {
      const bool ended = it->second.state() == "succeeded" || it->second.state() == "failed";
      if ((ended && !request->all()) || (!request->user().empty() && request->user() != it->second.user())) continue;
      if (response->jobs_size() == 1) {
        response->set_next_page_token(std::to_string(response->jobs(0).id()));
        break;
      }
      *response->add_jobs() = it->second;
    }
    return Status::OK;
  }

  Status GetJob(ServerContext* context, const GetJobRequest* request, GetJobResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    const auto found = state->jobs.find(request->job_id());
    if (found == state->jobs.end()) return NoJob(request->job_id());
    *response->mutable_job() = found->second;
    return Status::OK;
  }

  Status ExplainJob(ServerContext* context, const ExplainJobRequest* request, ExplainJobResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    const auto found = state->jobs.find(request->job_id());
    if (found == state->jobs.end()) return NoJob(request->job_id());
    *response = state->explanation;
    *response->mutable_job() = found->second;
    return Status::OK;
  }

  Status PlanJob(ServerContext* context, const PlanJobRequest* request, PlanJobResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    state->plans.push_back(*request);
    *response = state->plan;
    return Status::OK;
  }

  Status ListNodes(ServerContext* context, const ListNodesRequest* request, ListNodesResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    state->node_requests.push_back(*request);
    for (const Node& node : state->nodes) *response->add_nodes() = node;
    return Status::OK;
  }

  Status StreamLog(ServerContext* context, const StreamLogRequest* request,
                   grpc::ServerWriter<StreamLogResponse>* writer) override {
    std::uint32_t attempt = request->attempt();
    std::string text;
    std::string error;
    bool hold = false;
    {
      const FakeHandle state = owner_->Lock();
      if (Status status = Enter(*context, state.state); !status.ok()) return status;
      state->log_requests.push_back(*request);
      if (!state->jobs.contains(request->job_id())) return NoJob(request->job_id());
      if (attempt == 0 && !state->logs.empty()) attempt = state->logs.rbegin()->first;
      text = state->logs[attempt];
      error = std::exchange(state->log_error, "");
      hold = state->hold_log && request->follow();
    }
    Write(text, request->offset(), attempt, error.empty() ? text.size() : text.size() / 2, writer);
    if (!error.empty()) return Status(grpc::StatusCode::UNAVAILABLE, error);
    if (hold) HoldUntilCancelled(*context);
    return Status::OK;
  }

  // One event a page.
  Status StreamEvents(ServerContext* context, const StreamEventsRequest* request,
                      grpc::ServerWriter<StreamEventsResponse>* writer) override {
    std::vector<Event> events;
    std::string error;
    bool hold = false;
    {
      const FakeHandle state = owner_->Lock();
      if (Status status = Enter(*context, state.state); !status.ok()) return status;
      state->event_requests.push_back(*request);
      events = state->events;
      error = std::exchange(state->events_error, "");
      hold = state->hold_events && request->follow();
    }
    int written = 0;
    for (const Event& event : events) {
      if (event.seq() <= request->after()) continue;
      if (!error.empty() && written == 2) return Status(grpc::StatusCode::UNAVAILABLE, error);
      StreamEventsResponse page;
      *page.add_events() = event;
      page.set_next_after(event.seq());
      writer->Write(page);
      ++written;
    }
    if (hold) HoldUntilCancelled(*context);
    return Status::OK;
  }

  // At most two jobs a page.
  Status ListHistory(ServerContext* context, const ListHistoryRequest* request,
                     ListHistoryResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    state->history_requests.push_back(*request);
    std::size_t at = request->page_token().empty() ? 0 : std::stoull(request->page_token());
    const std::size_t end = std::min({state->ended_jobs.size(), at + 2, at + request->page_size()});
    for (; at < end; ++at) *response->add_jobs() = state->ended_jobs[at];
    if (at < state->ended_jobs.size()) response->set_next_page_token(std::to_string(at));
    return Status::OK;
  }

  Status GetVersion(ServerContext* context, const GetVersionRequest*, GetVersionResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    response->set_version("9.8.7");
    response->set_protocol_version(1);
    response->set_cluster_id("test");
    response->set_checkpoint_root(state->checkpoint_root);
    response->set_checkpoint_marker(state->checkpoint_marker);
    return Status::OK;
  }

 private:
  template <typename Response>
  Status Change(const ServerContext& context, std::uint64_t job_id, const char* to, Response* response) {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(context, state.state); !status.ok()) return status;
    const auto found = state->jobs.find(job_id);
    if (found == state->jobs.end()) return NoJob(job_id);
    found->second.set_state(to);
    response->set_state(to);
    return Status::OK;
  }

  // In parts of seven bytes: lines and characters are cut.
  static void Write(const std::string& text, std::int64_t offset, std::uint32_t attempt, std::size_t end,
                    grpc::ServerWriter<StreamLogResponse>* writer) {
    for (std::size_t at = static_cast<std::size_t>(offset); at < end; at += 7) {
      StreamLogResponse part;
      part.set_data(text.substr(at, std::min<std::size_t>(7, end - at)));
      part.set_offset(static_cast<std::int64_t>(at));
      part.set_attempt(attempt);
      writer->Write(part);
    }
  }

  void HoldUntilCancelled(const ServerContext& context) {
    ++owner_->Lock()->log_streams_open;
    (void)Eventually([&] { return context.IsCancelled(); });
    --owner_->Lock()->log_streams_open;
  }

  FakeDesk* owner_;
};

class FakeServer::AdminService : public FakeOperatorCalls {
 public:
  explicit AdminService(FakeDesk* owner) : FakeOperatorCalls(owner), owner_(owner) {}

  Status GetSchedulerStatus(ServerContext* context, const GetSchedulerStatusRequest*,
                            GetSchedulerStatusResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    response->set_epoch(3);
    response->set_store("sqlite");
    response->set_nodes(static_cast<std::uint32_t>(state->nodes.size()));
    response->set_last_pass_us(1500);
    response->set_outage(state->nodes_silent > 0);
    response->set_nodes_silent(state->nodes_silent);
    return Status::OK;
  }

  Status ReturnNode(ServerContext* context, const ReturnNodeRequest* request, ReturnNodeResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    state->returned_nodes.push_back(request->node());
    response->set_state("ready");
    return Status::OK;
  }

  Status RemoveNode(ServerContext* context, const RemoveNodeRequest* request, RemoveNodeResponse*) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    state->removed_nodes.push_back(*request);
    return Status::OK;
  }

  Status ResolveOutage(ServerContext* context, const ResolveOutageRequest*, ResolveOutageResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    response->set_nodes_lost(std::exchange(state->nodes_silent, 0));
    return Status::OK;
  }

  Status GetPolicy(ServerContext* context, const GetPolicyRequest*, GetPolicyResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    response->set_yaml(state->policy_yaml);
    response->set_source("/etc/glim/policy.yaml");
    return Status::OK;
  }

  Status ReloadPolicy(ServerContext* context, const ReloadPolicyRequest* request,
                      ReloadPolicyResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    state->reloads.push_back(request->dry_run());
    for (const auto& change : state->policy_changes) *response->add_changes() = change;
    for (const auto& warning : state->policy_warnings) response->add_warnings(warning);
    response->set_applied(!request->dry_run() && !state->policy_changes.empty());
    response->set_source("/etc/glim/policy.yaml");
    return Status::OK;
  }

  Status ListAccounts(ServerContext* context, const ListAccountsRequest*, ListAccountsResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    *response = state->accounts;
    return Status::OK;
  }

  Status ChangeAccount(ServerContext* context, const ChangeAccountRequest* request, ChangeAccountResponse*) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    state->account_changes.push_back(*request);
    return Status::OK;
  }

  Status GetReport(ServerContext* context, const GetReportRequest* request, GetReportResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    state->reports_by.push_back(request->by());
    *response = state->report;
    return Status::OK;
  }

 private:
  FakeDesk* owner_;
};

class FakeServer::LogService final : public glim::v1::LogApi::Service {
 public:
  explicit LogService(FakeDesk* owner) : owner_(owner) {}

  Status SearchLog(ServerContext* context, const glim::v1::SearchLogRequest* request,
                   glim::v1::SearchLogResponse* response) override {
    const FakeHandle state = owner_->Lock();
    if (Status status = Enter(*context, state.state); !status.ok()) return status;
    state->searches.push_back(*request);
    if (state->found.empty()) return Status::OK;
    *response = state->found[std::min(state->searches.size(), state->found.size()) - 1];
    return Status::OK;
  }

 private:
  FakeDesk* owner_;
};

FakeServer::FakeServer(std::shared_ptr<grpc::ServerCredentials> credentials)
    : client_(std::make_unique<ClientService>(&desk_)),
      admin_(std::make_unique<AdminService>(&desk_)),
      report_(std::make_unique<FakeReportCalls>(&desk_)),
      log_(std::make_unique<LogService>(&desk_)),
      layout_(std::make_unique<FakeLayoutCalls>(&desk_)),
      operate_(std::make_unique<FakeOperateCalls>(&desk_)),
      reserve_(std::make_unique<FakeReserveCalls>(&desk_)),
      sched_(std::make_unique<FakeSchedCalls>(&desk_)) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", credentials ? credentials : grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(client_.get());
  builder.RegisterService(admin_.get());
  builder.RegisterService(report_.get());
  builder.RegisterService(log_.get());
  builder.RegisterService(layout_.get());
  builder.RegisterService(operate_.get());
  builder.RegisterService(reserve_.get());
  builder.RegisterService(sched_.get());
  server_ = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

FakeServer::~FakeServer() { server_->Shutdown(std::chrono::system_clock::now()); }

}  // namespace glim::cli
