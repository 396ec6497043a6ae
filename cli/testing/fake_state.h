// What the fake scheduler (fake_server.h) answers and has seen: set and read by the test, under a lock that the
// services take as well.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <grpcpp/server_context.h>

#include "glim/v1/admin_api.pb.h"
#include "glim/v1/client_api.pb.h"
#include "glim/v1/layout_api.pb.h"
#include "glim/v1/log_api.pb.h"
#include "glim/v1/operate_api.pb.h"
#include "glim/v1/report_api.pb.h"
#include "glim/v1/reserve_api.pb.h"
#include "glim/v1/sched_api.pb.h"

namespace glim::cli {

struct FakeIdentity {
  glim::v1::WhoAmIResponse who;
  glim::v1::GetLoginResponse login;
  glim::v1::LoginOidcResponse oidc;
  glim::v1::CreateWebCodeResponse web_code;
  glim::v1::ListSecretsResponse secrets;
  glim::v1::CreateTokenResponse created;
  glim::v1::ListTokensResponse tokens;
  glim::v1::InviteNodeResponse invited;
  glim::v1::LabelNodeResponse labelled;
  glim::v1::RotateCaResponse rotated;
  std::vector<glim::v1::AuditEntry> audit;  // one a page
  glim::v1::VerifyAuditResponse verified;

  // What was seen.
  std::vector<std::string> id_tokens;
  std::vector<glim::v1::SetSecretRequest> secrets_set;
  std::vector<std::string> secrets_removed;
  std::vector<glim::v1::CreateTokenRequest> create_requests;
  std::vector<glim::v1::ListTokensRequest> list_requests;
  std::vector<glim::v1::RevokeTokenRequest> revoked;
  std::vector<glim::v1::InviteNodeRequest> invitations;
  std::vector<std::string> nodes_revoked;
  std::vector<glim::v1::LabelNodeRequest> labels;
  std::vector<glim::v1::RotateCaRequest> rotations;
  std::vector<glim::v1::ListAuditRequest> audit_requests;
};

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
  glim::v1::GetHistoryReportResponse history_report;
  glim::v1::GetHardwareReportResponse hardware;
  glim::v1::GetStorageReportResponse storage;
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

  FakeIdentity identity;

  // What was seen.
  std::string user;
  std::vector<std::string> authorizations;  // of every call, empty where there was none
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
  std::vector<glim::v1::GetHistoryReportRequest> report_requests;
  std::vector<glim::v1::GetHardwareReportRequest> hardware_requests;
  std::vector<glim::v1::GetStorageReportRequest> storage_requests;

  // Of SchedApi: pages of the history, one an answer.
  glim::v1::GetSchedStatusResponse sched_status;
  glim::v1::TraceJobResponse trace;
  std::vector<glim::v1::ExportHistoryResponse> past;
  std::vector<glim::v1::ExportHistoryRequest> exports;
  std::vector<glim::v1::ListJobsRequest> list_jobs_requests;
  int log_streams_open = 0;
  std::vector<glim::v1::ListNodesRequest> node_requests;
  std::vector<glim::v1::CancelRequest> cancels;
  std::vector<glim::v1::SuspendRequest> suspends;

  // Of LogApi: each answer once, the last one for ever.
  std::vector<glim::v1::SearchLogResponse> found;
  std::vector<glim::v1::SearchLogRequest> searches;

  // Of LayoutApi, with the dry runs.
  glim::v1::ListLayoutResponse layout;
  std::string row_meaning;
  std::vector<glim::v1::ChangeRowsRequest> row_changes;
  grpc::Status rows_refusal;  // of ChangeRows alone

  // Of OperateApi, with the dry runs.
  std::vector<glim::v1::Victim> on_node;  // who is on any node
  std::vector<glim::v1::JobAtRisk> at_risk;
  std::vector<glim::v1::CordonNodeRequest> cordons;
  std::vector<glim::v1::DrainNodeRequest> drains;
  std::vector<glim::v1::UncordonNodeRequest> uncordons;
  std::vector<glim::v1::ValidateNodeRequest> validations;
  glim::v1::NodeValidation measured;  // how the node stands when it has been asked for; bad: it is cordoned
  std::vector<glim::v1::SetJobPriorityRequest> priorities;
  std::vector<glim::v1::UpdateJobRequest> updates;
  std::vector<glim::v1::MoveJobRequest> moves;
  std::vector<glim::v1::CancelUserJobsRequest> user_cancels;

  std::vector<glim::v1::Budget> budgets;
  std::vector<glim::v1::SetBudgetRequest> budgets_set;  // with the dry runs

  // Of ReserveApi, with the dry runs.
  std::vector<glim::v1::Reservation> reservations;
  grpc::Status reservation_refusal;  // of SetReservation alone
  std::vector<glim::v1::SetReservationRequest> reservations_set;
  std::vector<glim::v1::RemoveReservationRequest> reservations_removed;
};

// Exclusive access to the state while the handle lives.
struct FakeHandle {
  std::unique_lock<std::mutex> lock;
  FakeState* state;
  FakeState* operator->() const { return state; }
};

class FakeDesk {
 public:
  FakeHandle Lock() { return {std::unique_lock(mutex_), &state_}; }

 private:
  std::mutex mutex_;
  FakeState state_;
};

// What every call does first: notes who asks, and refuses if the test says so.
grpc::Status Enter(const grpc::ServerContext& context, FakeState* state);

// A refusal as the scheduler sends it, with its ErrorDetail.
grpc::Status Refusal(grpc::StatusCode code, const std::string& message, const std::string& reason = "",
                     const std::string& field = "", const std::string& fix = "");

}  // namespace glim::cli
