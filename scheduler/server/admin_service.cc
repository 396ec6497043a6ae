#include "scheduler/server/admin_service.h"

#include <spdlog/spdlog.h>

#include "scheduler/server/rpc_status.h"

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
      loop_->Post(core::ReturnNode{request->node()}, [reactor, response, node = request->node(),
                                                      peer = context->peer()](const core::Reply& reply) {
        if (reply.status.ok()) spdlog::info("node returned by an operator node={} peer={}", node, peer);
        response->set_state(reply.state);
        reactor->Finish(ToGrpc(reply.status));
      });
  if (!posted.ok()) reactor->Finish(ToGrpc(posted));
  return reactor;
}

}  // namespace glim::server
