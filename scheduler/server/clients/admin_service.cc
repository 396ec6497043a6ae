#include "scheduler/server/clients/admin_service.h"

#include <utility>
#include <variant>

#include "scheduler/server/clients/account_calls.h"
#include "scheduler/server/convert/account_convert.h"
#include "scheduler/server/convert/usage_report.h"
#include "scheduler/server/door/call.h"
#include "scheduler/server/door/private_parts.h"
#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr std::size_t kNodeNameMax = 63;

Status CheckName(const std::string& node) {
  if (!node.empty() && node.size() <= kNodeNameMax) return Status::Ok();
  return InvalidArgument("node", "is no node's name", "glim nodes lists the nodes");
}

std::string NodeNow(const Snapshot& snapshot, const std::string& name) {
  const core::NodeId* const id = snapshot.tables.node_ids.Find(name);
  const core::Node* const node = id != nullptr ? snapshot.tables.nodes.Find(*id) : nullptr;
  if (node == nullptr) return snapshot.tables.identity->nodes.Find(name) != nullptr ? "never said hello" : "";
  return core::ToString(node->state) + (node->message.empty() ? "" : ": " + node->message);
}

}  // namespace

AdminService::AdminService(SchedulerLoop* loop, PolicyKeeper* policy, Door* door, NodeAffairs* nodes,
                           CaRotation* rotation)
    : loop_(loop), policy_(policy), door_(door), nodes_(nodes), rotation_(rotation) {}

AdminService::~AdminService() = default;

grpc::ServerUnaryReactor* AdminService::GetSchedulerStatus(grpc::CallbackServerContext* context,
                                                           const v1::GetSchedulerStatusRequest* request,
                                                           v1::GetSchedulerStatusResponse* response) {
  Call* const call = Call::Open(door_, context, "AdminApi/GetSchedulerStatus", *request);
  if (!call->admitted()) return call;
  const SnapshotPtr snapshot = loop_->snapshot();
  const core::StateCounts& counts = *snapshot->counts;
  std::uint64_t live = 0;
  for (const auto& [key, count] : counts.jobs) {
    const core::JobState state = key.second;
    const bool waits = state == core::JobState::kQueued || state == core::JobState::kHeld;
    live += waits || core::IsTerminal(state) ? 0 : count;
  }
  response->set_epoch(snapshot->epoch);
  response->set_revision(snapshot->revision);
  response->set_jobs_queued(static_cast<std::uint32_t>(counts.JobsIn(core::JobState::kQueued)));
  response->set_jobs_live(static_cast<std::uint32_t>(live));
  response->set_nodes(static_cast<std::uint32_t>(snapshot->tables.nodes.size()));
  response->set_nodes_ready(static_cast<std::uint32_t>(counts.NodesIn(core::NodeState::kReady)));
  response->set_nodes_silent(static_cast<std::uint32_t>(counts.NodesIn(core::NodeState::kSilent)));
  response->set_last_pass_us(snapshot->last_pass_us);
  response->set_store(loop_->store_name());
  response->set_outage(snapshot->outage);
  response->set_store_away_since_ms(snapshot->stale_since.ms);
  response->set_store_away_why(snapshot->stale_why);
  UsesToProto(counts.UsesUntil(loop_->Now()), response->mutable_uses());
  response->set_simulated_gpus(counts.nodes_simulated > 0);
  call->Answer(Status::Ok(), response);
  return call;
}

grpc::ServerUnaryReactor* AdminService::ReturnNode(grpc::CallbackServerContext* context,
                                                   const v1::ReturnNodeRequest* request,
                                                   v1::ReturnNodeResponse* response) {
  Call* const call = Call::Open(door_, context, "AdminApi/ReturnNode", *request);
  if (!call->admitted()) return call;
  if (Status name = CheckName(request->node()); !name.ok()) return call->Refuse(name);
  const Status posted = loop_->Post(
      core::ReturnNode{request->node()},
      [call, response, node = request->node(), peer = context->peer()](const core::Reply& reply) {
        if (reply.status.ok()) LogInfo("node returned by an operator node={} peer={}", node, peer);
        response->set_state(reply.state);
        call->Answer(reply.status, response);
      },
      call->Note("node " + request->node(), NodeNow(*loop_->snapshot(), request->node()), "returned"));
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* AdminService::RemoveNode(grpc::CallbackServerContext* context,
                                                   const v1::RemoveNodeRequest* request, v1::RemoveNodeResponse*) {
  Call* const call = Call::Open(door_, context, "AdminApi/RemoveNode", *request);
  if (!call->admitted()) return call;
  if (Status name = CheckName(request->node()); !name.ok()) return call->Refuse(name);
  const Status posted = loop_->Post(
      core::RemoveNode{request->node(), request->connected()},
      [call, node = request->node(), peer = context->peer()](const core::Reply& reply) {
        if (reply.status.ok()) LogInfo("node removed by an operator node={} peer={}", node, peer);
        call->Answer(reply.status);
      },
      call->Note("node " + request->node(), NodeNow(*loop_->snapshot(), request->node()),
                 request->connected() ? "removed, its certificate stays" : "removed with its certificate"));
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* AdminService::ResolveOutage(grpc::CallbackServerContext* context,
                                                      const v1::ResolveOutageRequest* request,
                                                      v1::ResolveOutageResponse* response) {
  Call* const call = Call::Open(door_, context, "AdminApi/ResolveOutage", *request);
  if (!call->admitted()) return call;
  const SnapshotPtr now = loop_->snapshot();
  const Status posted = loop_->Post(
      core::ResolveOutage{},
      [call, response, peer = context->peer()](const core::Reply& reply) {
        if (reply.status.ok()) LogInfo("outage resolved by an operator nodes_lost={} peer={}", reply.nodes, peer);
        response->set_nodes_lost(reply.nodes);
        call->Answer(reply.status);
      },
      call->Note("outage", std::to_string(now->counts->NodesIn(core::NodeState::kSilent)) + " nodes silent", "lost"));
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* AdminService::GetPolicy(grpc::CallbackServerContext* context,
                                                  const v1::GetPolicyRequest* request,
                                                  v1::GetPolicyResponse* response) {
  Call* const call = Call::Open(door_, context, "AdminApi/GetPolicy", *request);
  if (!call->admitted()) return call;
  response->set_yaml(policy_->Yaml(call->caller().IsOperator()));
  response->set_source(policy_->source());
  call->Answer(Status::Ok(), response);
  return call;
}

grpc::ServerUnaryReactor* AdminService::ReloadPolicy(grpc::CallbackServerContext* context,
                                                     const v1::ReloadPolicyRequest* request,
                                                     v1::ReloadPolicyResponse* response) {
  Call* const call = Call::Open(door_, context, "AdminApi/ReloadPolicy", *request);
  if (!call->admitted()) return call;
  response->set_source(policy_->source());
  AuditNote note = call->Note("policy " + policy_->source());
  policy_->Reload(request->dry_run(), std::move(note),
                  [call, response](const Result<PolicyKeeper::Reloaded>& reloaded) {
                    if (!reloaded.ok()) return call->Answer(reloaded.status());
                    for (const PolicyChange& change : reloaded->changes) {
                      v1::PolicyChange* out = response->add_changes();
                      out->set_field(change.field);
                      out->set_before(change.before);
                      out->set_after(change.after);
                    }
                    for (const std::string& warning : reloaded->warnings) response->add_warnings(warning);
                    response->set_applied(reloaded->applied);
                    call->Answer(Status::Ok(), response);
                  });
  return call;
}

grpc::ServerUnaryReactor* AdminService::ListAccounts(grpc::CallbackServerContext* context,
                                                     const v1::ListAccountsRequest* request,
                                                     v1::ListAccountsResponse* response) {
  Call* const call = Call::Open(door_, context, "AdminApi/ListAccounts", *request);
  if (!call->admitted()) return call;
  AccountsToProto(*loop_->snapshot()->tables.accounts, response);
  HidePrivateParts(call->caller(), response);
  call->Answer(Status::Ok(), response);
  return call;
}

grpc::ServerUnaryReactor* AdminService::ChangeAccount(grpc::CallbackServerContext* context,
                                                      const v1::ChangeAccountRequest* request,
                                                      v1::ChangeAccountResponse*) {
  Call* const call = Call::Open(door_, context, "AdminApi/ChangeAccount", *request);
  if (!call->admitted()) return call;
  auto change = AccountChangeFromProto(*request);
  if (!change.ok()) return call->Refuse(change.status());
  if (Status named = CheckHasName(call->user()); !named.ok()) return call->Refuse(named);
  const SnapshotPtr snapshot = loop_->snapshot();
  const core::Accounts& accounts = *snapshot->tables.accounts;
  if (Status may = CheckMayChange(call->caller(), accounts, *change); !may.ok()) {
    return call->Deny(may, ObjectOf(change->row));
  }
  Status status;
  if (request->only_new()) status = CheckIsNew(accounts, change->row);
  if (status.ok()) status = CheckNamed(NamesOf(snapshot->tables), *change);
  if (!status.ok()) return call->Refuse(status);
  AuditNote note =
      call->Note(ObjectOf(change->row), RowNow(accounts, change->row), change->removed ? "" : RowInWords(change->row));
  core::ChangeAccounts event{{std::move(change).value()}, call->user()};
  const Status posted = loop_->Post(
      std::move(event),
      [call, peer = context->peer()](const core::Reply& reply) {
        if (reply.status.ok()) LogInfo("users, teams or quotas changed by an operator peer={}", peer);
        call->Answer(reply.status);
      },
      std::move(note));
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* AdminService::GetReport(grpc::CallbackServerContext* context,
                                                  const v1::GetReportRequest* request,
                                                  v1::GetReportResponse* response) {
  Call* const call = Call::Open(door_, context, "AdminApi/GetReport", *request);
  if (!call->admitted()) return call;
  auto report = MakeReport(loop_->snapshot()->tables, request->by(), loop_->Now());
  if (report.ok()) *response = std::move(report).value();
  call->Answer(report.status(), response);
  return call;
}

}  // namespace glim::server
