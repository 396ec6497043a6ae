// AgentApi: opens a reactor a stream; the streams do the rest (agent_stream.h, agent_log_stream.h).
#pragma once

#include <string>

#include "glim/v1/agent_api.grpc.pb.h"
#include "scheduler/server/agents/agent_hub.h"
#include "scheduler/server/agents/agent_log_stream.h"

namespace glim::server {

// Sync is raw so that a torn message can be told from the end of the stream.
class AgentService final : public v1::AgentApi::WithRawCallbackMethod_Sync<
                               v1::AgentApi::WithCallbackMethod_ServeLogs<v1::AgentApi::Service>> {
 public:
  AgentService(AgentHub* hub, LogBroker* broker)
      : hub_(hub), logs_{&hub->strand(), broker, &hub->loop(), hub->cluster_id()} {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Sync(grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::LogChunk, v1::LogRequest>* ServeLogs(grpc::CallbackServerContext* context) override;

 private:
  AgentHub* hub_;
  const AgentLogStream::Owner logs_;
};

}  // namespace glim::server
