// AgentHub: which node talks through which stream, and who is to be sent its desired state.
//
// Owned by the AgentStrand: every method but those marked so runs there.
#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "scheduler/identity/cluster_authority.h"
#include "scheduler/server/agents/agent_strand.h"
#include "scheduler/server/agents/leader_check.h"
#include "scheduler/server/agents/log_broker.h"
#include "scheduler/server/convert/desired_convert.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/nodes/agent_gate.h"
#include "scheduler/server/secrets/launch_secrets.h"

namespace glim::server {

// A stream as the hub sees it (agent_stream.h is what serves one). On the strand; lives as long as somebody has it.
class AgentLink {
 public:
  virtual ~AgentLink() = default;
  virtual void SendDesired(const SnapshotPtr& snapshot, GangCache* cache) = 0;
  virtual void End(const grpc::Status& status) = 0;
  virtual std::uint64_t session() const = 0;  // grows in the order in which the core hears of streams
};

class AgentHub {
 public:
  using Authority = std::function<std::shared_ptr<const identity::ClusterAuthority>()>;
  // All outlive the hub; `logs` has the other stream of each node. `authority` gives null without identity; from any
  // thread, once agents come.
  AgentHub(AgentStrand* strand, SchedulerLoop* loop, LogBroker* logs, std::string cluster_id, const AgentGate* gate,
           Authority authority)
      : strand_(strand),
        loop_(loop),
        logs_(logs),
        cluster_id_(std::move(cluster_id)),
        gate_(gate),
        authority_(std::move(authority)),
        leader_check_(strand, loop) {}

  // Any thread.
  void SyncNodes(const std::set<core::NodeId>& nodes);
  // How often an agent reports: often enough that a lost report does not make a node silent.
  Duration ReportEvery() const;
  // Ends every stream, now and from now on, without telling the core that nodes went: it is us who goes.
  void EndAll(const grpc::Status& status);

  AgentStrand& strand() { return *strand_; }
  SchedulerLoop& loop() { return *loop_; }
  const AgentGate& gate() const { return *gate_; }
  // Whose certificates count; another object when it has changed. Null: without identity.
  std::shared_ptr<const identity::ClusterAuthority> authority() const { return authority_(); }
  // What opens the secrets of launches; outlives the hub, and is told before agents come.
  void set_secrets(const SecretSource* secrets) { secrets_ = secrets; }
  const SecretSource& secrets() const { return *secrets_; }
  LeaderCheck& leader_check() { return leader_check_; }
  const std::string& cluster_id() const { return cluster_id_; }

  std::uint64_t NextSession() { return next_session_++; }
  void Opened(const std::shared_ptr<AgentLink>& stream) { open_.insert(stream); }
  void Closed(const std::shared_ptr<AgentLink>& stream) { open_.erase(stream); }
  // The stream speaks for the node from now on; the one before it is ended.
  void Attach(core::NodeId node, const std::shared_ptr<AgentLink>& stream);
  // The stream has ended: if it still spoke for the node, the core is told.
  void Detach(core::NodeId node, std::uint64_t session);
  // Ends the node's streams, that of its logs among them, as far as it has them.
  void EndNode(core::NodeId node, const grpc::Status& status);
  bool stopping() const { return stopping_; }
  const grpc::Status& stop_status() const { return stop_status_; }

 private:
  AgentStrand* strand_;
  SchedulerLoop* loop_;
  LogBroker* const logs_;
  const std::string cluster_id_;
  const AgentGate* const gate_;
  const Authority authority_;
  const SecretSource* secrets_ = nullptr;
  LeaderCheck leader_check_;
  std::uint64_t next_session_ = 1;
  std::map<core::NodeId, std::shared_ptr<AgentLink>> by_node_;
  std::set<std::shared_ptr<AgentLink>> open_;
  bool stopping_ = false;
  grpc::Status stop_status_;
};

}  // namespace glim::server
