#include "scheduler/server/clients/admin_service.h"

#include <utility>

#include "scheduler/server/convert/account_convert.h"
#include "scheduler/server/convert/rpc_status.h"
#include "scheduler/server/convert/usage_report.h"
#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr std::size_t kNodeNameMax = 63;

Status CheckName(const std::string& node) {
  if (!node.empty() && node.size() <= kNodeNameMax) return Status::Ok();
  return InvalidArgument("node", "is no node's name", "glim nodes lists the nodes");
}

}  // namespace

grpc::ServerUnaryReactor* AdminService::GetSchedulerStatus(grpc::CallbackServerContext* context,
                                                           const v1::GetSchedulerStatusRequest*,
                                                           v1::GetSchedulerStatusResponse* response) {
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
  UsesToProto(counts.UsesUntil(loop_->Now()), response->mutable_uses());
  response->set_simulated_gpus(counts.nodes_simulated > 0);
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ReturnNode(grpc::CallbackServerContext* context,
                                                   const v1::ReturnNodeRequest* request,
                                                   v1::ReturnNodeResponse* response) {
  auto* reactor = context->DefaultReactor();
  if (Status name = CheckName(request->node()); !name.ok()) {
    reactor->Finish(ToGrpc(name));
    return reactor;
  }
  const Status posted =
      loop_->Post(core::ReturnNode{request->node()},
                  [reactor, response, node = request->node(), peer = context->peer()](const core::Reply& reply) {
                    if (reply.status.ok()) LogInfo("node returned by an operator node={} peer={}", node, peer);
                    response->set_state(reply.state);
                    reactor->Finish(ToGrpc(reply.status));
                  });
  if (!posted.ok()) reactor->Finish(ToGrpc(posted));
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::RemoveNode(grpc::CallbackServerContext* context,
                                                   const v1::RemoveNodeRequest* request, v1::RemoveNodeResponse*) {
  auto* reactor = context->DefaultReactor();
  if (Status name = CheckName(request->node()); !name.ok()) {
    reactor->Finish(ToGrpc(name));
    return reactor;
  }
  const Status posted =
      loop_->Post(core::RemoveNode{request->node(), request->connected()},
                  [reactor, node = request->node(), peer = context->peer()](const core::Reply& reply) {
                    if (reply.status.ok()) LogInfo("node removed by an operator node={} peer={}", node, peer);
                    reactor->Finish(ToGrpc(reply.status));
                  });
  if (!posted.ok()) reactor->Finish(ToGrpc(posted));
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ResolveOutage(grpc::CallbackServerContext* context,
                                                      const v1::ResolveOutageRequest*,
                                                      v1::ResolveOutageResponse* response) {
  auto* reactor = context->DefaultReactor();
  const Status posted =
      loop_->Post(core::ResolveOutage{}, [reactor, response, peer = context->peer()](const core::Reply& reply) {
        if (reply.status.ok()) LogInfo("outage resolved by an operator nodes_lost={} peer={}", reply.nodes, peer);
        response->set_nodes_lost(reply.nodes);
        reactor->Finish(ToGrpc(reply.status));
      });
  if (!posted.ok()) reactor->Finish(ToGrpc(posted));
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::GetPolicy(grpc::CallbackServerContext* context, const v1::GetPolicyRequest*,
                                                  v1::GetPolicyResponse* response) {
  response->set_yaml(policy_->Yaml());
  response->set_source(policy_->source());
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ReloadPolicy(grpc::CallbackServerContext* context,
                                                     const v1::ReloadPolicyRequest* request,
                                                     v1::ReloadPolicyResponse* response) {
  auto* reactor = context->DefaultReactor();
  response->set_source(policy_->source());
  policy_->Reload(request->dry_run(), [reactor, response](const Result<PolicyKeeper::Reloaded>& reloaded) {
    if (!reloaded.ok()) return reactor->Finish(ToGrpc(reloaded.status()));
    for (const PolicyChange& change : reloaded->changes) {
      v1::PolicyChange* out = response->add_changes();
      out->set_field(change.field);
      out->set_before(change.before);
      out->set_after(change.after);
    }
    for (const std::string& warning : reloaded->warnings) response->add_warnings(warning);
    response->set_applied(reloaded->applied);
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ListAccounts(grpc::CallbackServerContext* context,
                                                     const v1::ListAccountsRequest*,
                                                     v1::ListAccountsResponse* response) {
  AccountsToProto(*loop_->snapshot()->tables.accounts, response);
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ChangeAccount(grpc::CallbackServerContext* context,
                                                      const v1::ChangeAccountRequest* request,
                                                      v1::ChangeAccountResponse*) {
  auto* reactor = context->DefaultReactor();
  auto user = CallerOf(*context);
  auto change = AccountChangeFromProto(*request);
  Status status = user.ok() ? change.status() : user.status();
  if (status.ok() && request->only_new()) status = CheckIsNew(*loop_->snapshot()->tables.accounts, change->row);
  if (!status.ok()) {
    reactor->Finish(ToGrpc(status));
    return reactor;
  }
  core::ChangeAccounts event{{std::move(change).value()}, std::move(user).value()};
  const Status posted = loop_->Post(std::move(event), [reactor, peer = context->peer()](const core::Reply& reply) {
    if (reply.status.ok()) LogInfo("users, teams or quotas changed by an operator peer={}", peer);
    reactor->Finish(ToGrpc(reply.status));
  });
  if (!posted.ok()) reactor->Finish(ToGrpc(posted));
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::GetReport(grpc::CallbackServerContext* context,
                                                  const v1::GetReportRequest* request,
                                                  v1::GetReportResponse* response) {
  auto* reactor = context->DefaultReactor();
  auto report = MakeReport(loop_->snapshot()->tables, request->by(), loop_->Now());
  if (report.ok()) *response = std::move(report).value();
  reactor->Finish(ToGrpc(report.status()));
  return reactor;
}

}  // namespace glim::server
