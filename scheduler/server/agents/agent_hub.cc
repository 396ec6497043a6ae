#include "scheduler/server/agents/agent_hub.h"

#include <utility>

#include "scheduler/core/lifecycle/heard.h"
#include "sdk/log/log.h"

namespace glim::server {

Duration AgentHub::ReportEvery() const { return core::ReportEvery(*loop_->policy()); }

void AgentHub::SyncNodes(const std::set<core::NodeId>& nodes) {
  strand_->Post([this, nodes] {
    const SnapshotPtr snapshot = loop_->snapshot();
    GangCache cache;
    for (const core::NodeId node : nodes) {
      if (!snapshot->tables.nodes.Find(node)) {
        EndNode(node, {grpc::StatusCode::UNAVAILABLE, "an operator has removed this node: it registers anew"});
        continue;
      }
      const auto it = by_node_.find(node);
      if (it == by_node_.end()) continue;
      const std::shared_ptr<AgentLink> stream = it->second;
      stream->SendDesired(snapshot, &cache);
    }
  });
}

void AgentHub::EndAll(const grpc::Status& status) {
  strand_->Post([this, status] {
    stopping_ = true;
    stop_status_ = status;
    const auto streams = open_;
    for (const auto& stream : streams) stream->End(status);
  });
}

void AgentHub::EndNode(core::NodeId node, const grpc::Status& status) {
  logs_->EndNode(node, status);
  const auto it = by_node_.find(node);
  if (it == by_node_.end()) return;
  const std::shared_ptr<AgentLink> stream = it->second;
  stream->End(status);
}

void AgentHub::Attach(core::NodeId node, const std::shared_ptr<AgentLink>& stream) {
  auto& current = by_node_[node];
  if (current && current->session() > stream->session()) {
    stream->End({grpc::StatusCode::ABORTED, "a newer stream of this machine was opened meanwhile"});
    return;
  }
  const auto old = std::exchange(current, stream);
  if (old) {
    LogInfo("agent stream replaced node={} session={}", node.value, stream->session());
    old->End({grpc::StatusCode::ABORTED, "replaced by a newer stream of the same machine"});
  }
}

void AgentHub::Detach(core::NodeId node, std::uint64_t session) {
  const auto it = by_node_.find(node);
  if (it == by_node_.end() || it->second->session() != session) return;
  by_node_.erase(it);
  if (stopping_) return;
  const Status posted = loop_->PostUnbounded(core::NodeDisconnected{node, session}, nullptr);
  if (!posted.ok()) LogDebug("disconnect not told node={} error=\"{}\"", node.value, posted.message());
}

}  // namespace glim::server
