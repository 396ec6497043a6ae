// AgentLogStream: one AgentApi.ServeLogs stream. The agent opens it and says who it is; then the broker's requests go
// out one after the other, and chunks come back.
//
// Runs on the AgentStrand but for the reactor's callbacks; owns itself until OnDone.
#pragma once

#include <grpcpp/grpcpp.h>

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "scheduler/server/agents/log_broker.h"
#include "scheduler/server/limits/caller_limits.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/nodes/agent_gate.h"

namespace glim::server {

class AgentLogStream : public grpc::ServerBidiReactor<v1::LogChunk, v1::LogRequest>,
                       public LogSink,
                       public std::enable_shared_from_this<AgentLogStream> {
 public:
  struct Owner {
    AgentStrand* strand;
    LogBroker* broker;
    SchedulerLoop* loop;
    std::string cluster_id;
    CallerLimits* limits;
    const AgentGate* gate;
  };

  static AgentLogStream* Open(const Owner* owner, grpc::CallbackServerContext* context);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  void Send(const v1::LogRequest& request) override;
  void End(const grpc::Status& status) override;

 private:
  AgentLogStream(const Owner* owner, grpc::CallbackServerContext* context)
      : owner_(owner), context_(context), timer_(owner->strand->io()) {}
  void Begin(const Status& admitted);
  void Received();
  Status Introduce();
  Status CheckNode(const std::string& node, const std::string& machine_id) const;
  Status CheckStill() const;
  void WriteNext();

  const Owner* owner_;
  grpc::CallbackServerContext* context_;
  std::shared_ptr<AgentLogStream> self_;
  AgentPeer peer_;
  Admission admission_;
  v1::LogChunk in_;
  v1::LogRequest out_;
  std::deque<v1::LogRequest> queue_;  // bounded by the broker's bound a node
  boost::asio::steady_timer timer_;
  core::NodeId node_;  // none: not introduced yet
  std::string node_name_;
  std::string machine_id_;
  bool writing_ = false;
  bool ended_ = false;
  grpc::Status end_status_;
};

}  // namespace glim::server
