#include "scheduler/server/agents/agent_service.h"

#include "scheduler/server/agents/agent_stream.h"

namespace glim::server {

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* AgentService::Sync(grpc::CallbackServerContext* context) {
  return AgentStream::Open(hub_, context);
}

grpc::ServerBidiReactor<v1::LogChunk, v1::LogRequest>* AgentService::ServeLogs(grpc::CallbackServerContext* context) {
  return AgentLogStream::Open(&logs_, context);
}

}  // namespace glim::server
