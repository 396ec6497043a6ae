// A scheduler for the CLI's tests: the real APIs on a real socket, with answers that the test sets. Records what was
// asked. Threads: the services run on gRPC's; `state` is guarded, reach it through Lock().
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <grpcpp/server.h>

#include "glim/v1/admin_api.grpc.pb.h"
#include "glim/v1/client_api.grpc.pb.h"

namespace glim::cli {

struct FakeState {
  std::map<std::uint64_t, glim::v1::Job> jobs;
  glim::v1::ExplainJobResponse explanation;  // beside the job
  glim::v1::PlanJobResponse plan;
  std::vector<glim::v1::Node> nodes;
  std::vector<glim::v1::Event> events;
  std::vector<glim::v1::EndedJob> ended_jobs;
  std::string checkpoint_root;  // told by GetVersion
  std::string checkpoint_marker;
  std::string policy_yaml;
  std::vector<glim::v1::PolicyChange> policy_changes;
  std::vector<std::string> policy_warnings;
  glim::v1::GetReportResponse report;
  glim::v1::ListAccountsResponse accounts;
  std::vector<glim::v1::ChangeAccountRequest> account_changes;
  std::string events_error;                   // sent after two events, as UNAVAILABLE, once
  bool hold_events = false;                   // a followed stream stays open until the call is cancelled
  std::map<std::uint32_t, std::string> logs;  // by attempt
  std::string log_error;                      // sent after the log, as UNAVAILABLE, once
  bool hold_log = false;                      // a followed log stays open until the call is cancelled
  std::uint64_t next_job_id = 1;
  std::map<std::string, std::string> requests;  // request_id to the serialised specs
  std::map<std::string, std::vector<std::uint64_t>> ids;
  grpc::Status refusal;    // of every call, unless OK
  int refusals_left = -1;  // -1: always

  // What was seen.
  std::string user;
  std::vector<glim::v1::SubmitRequest> submits;
  std::vector<glim::v1::PlanJobRequest> plans;
  std::vector<glim::v1::StreamLogRequest> log_requests;
  std::vector<glim::v1::StreamEventsRequest> event_requests;
  std::vector<glim::v1::ListHistoryRequest> history_requests;
  std::vector<std::string> returned_nodes;
  std::vector<glim::v1::RemoveNodeRequest> removed_nodes;
  std::uint32_t nodes_silent = 0;  // any: an outage
  std::vector<bool> reloads;       // whether each was a dry run
  std::vector<std::string> reports_by;
  int log_streams_open = 0;
};

class FakeServer {
 public:
  FakeServer();
  ~FakeServer();

  const std::string& address() const { return address_; }

  // Exclusive access to the state while the handle lives.
  struct Handle {
    std::unique_lock<std::mutex> lock;
    FakeState* state;
    FakeState* operator->() const { return state; }
  };
  Handle Lock() { return {std::unique_lock(mutex_), &state_}; }

 private:
  class ClientService;
  class AdminService;

  std::mutex mutex_;
  FakeState state_;
  std::unique_ptr<ClientService> client_;
  std::unique_ptr<AdminService> admin_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// A refusal as the scheduler sends it, with its ErrorDetail.
grpc::Status Refusal(grpc::StatusCode code, const std::string& message, const std::string& reason = "",
                     const std::string& field = "", const std::string& fix = "");

}  // namespace glim::cli
