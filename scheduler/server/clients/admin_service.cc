#include "scheduler/server/clients/admin_service.h"

#include <utility>

#include "scheduler/server/convert/account_convert.h"
#include "scheduler/server/convert/rpc_status.h"
#include "scheduler/server/convert/usage_report.h"
#include "sdk/log/log.h"

namespace glim::server {

grpc::ServerUnaryReactor* AdminService::GetSchedulerStatus(grpc::CallbackServerContext* context,
                                                           const v1::GetSchedulerStatusRequest*,
                                                           v1::GetSchedulerStatusResponse* response) {
  const SnapshotPtr snapshot = loop_->snapshot();
  std::uint32_t queued = 0, live = 0, ready = 0;
  snapshot->tables.jobs.ForEach([&](core::JobId, const core::Job& job) {
    if (job.state == core::JobState::kQueued) {
      ++queued;
    } else if (!core::IsTerminal(job.state) && job.state != core::JobState::kHeld) {
      ++live;
    }
  });
  snapshot->tables.nodes.ForEach(
      [&](core::NodeId, const core::Node& node) { ready += node.state == core::NodeState::kReady ? 1 : 0; });
  response->set_epoch(snapshot->epoch);
  response->set_revision(snapshot->revision);
  response->set_jobs_queued(queued);
  response->set_jobs_live(live);
  response->set_nodes(static_cast<std::uint32_t>(snapshot->tables.nodes.size()));
  response->set_nodes_ready(ready);
  response->set_last_pass_us(snapshot->last_pass_us);
  response->set_store(loop_->store_name());
  response->set_outage(snapshot->outage);
  if (const auto report = MakeReport(snapshot->tables, "pool", loop_->Now()); report.ok()) {
    *response->mutable_uses() = report->total();
    response->set_simulated_gpus(report->simulated_gpus());
  }
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ReturnNode(grpc::CallbackServerContext* context,
                                                   const v1::ReturnNodeRequest* request,
                                                   v1::ReturnNodeResponse* response) {
  auto* reactor = context->DefaultReactor();
  if (request->node().empty() || request->node().size() > 63) {
    reactor->Finish(ToGrpc(InvalidArgument("node", "is no node's name", "glim nodes lists the nodes")));
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
