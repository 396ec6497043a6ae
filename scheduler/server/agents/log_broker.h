// LogBroker: reverse calls for logs. Agents open ServeLogs, and the broker asks through it: each request has an id, and
// the chunk with that id is its answer.
//
// Bounded: 64 requests in flight a node, 16 of them of one user; one that is not answered in time fails. Runs on the
// AgentStrand only.
#pragma once

#include <grpcpp/support/status.h>

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "glim/v1/agent_api.pb.h"
#include "scheduler/core/model/ids.h"
#include "scheduler/server/agents/agent_strand.h"
#include "sdk/base/result.h"

namespace glim::server {

// The broker's side of one agent's ServeLogs stream.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void Send(const v1::LogRequest& request) = 0;
  virtual void End(const grpc::Status& status) = 0;
};

class LogBroker {
 public:
  using Done = std::function<void(Result<v1::LogChunk>)>;

  explicit LogBroker(AgentStrand* strand) : strand_(strand) {}

  void Attach(core::NodeId node, std::shared_ptr<LogSink> sink);
  void Detach(core::NodeId node, const LogSink* sink);  // fails what was asked through it

  // `done` is called once, later: UNAVAILABLE (NO_LOG_STREAM) when the agent does not serve, or stops to;
  // RESOURCE_EXHAUSTED (LOG_BUSY) beyond the bound; DEADLINE_EXCEEDED wait_ms + 10 s after the question.
  void Fetch(core::NodeId node, const std::string& user, v1::LogRequest request, Done done);
  // Ends the node's stream, if it has one.
  void EndNode(core::NodeId node, const grpc::Status& status);
  // Ends every stream, fails what was asked, and refuses what is asked from now on (STOPPING).
  void Stop();
  bool stopping() const { return stopping_; }
  // An answer that nobody waits for any more is dropped.
  void Answer(core::NodeId node, v1::LogChunk chunk);

 private:
  struct Pending {
    core::NodeId node;
    std::string user;
    Done done;
    std::unique_ptr<boost::asio::steady_timer> timer;
  };
  void Complete(std::uint64_t id, Result<v1::LogChunk> result);

  AgentStrand* strand_;
  std::map<core::NodeId, std::shared_ptr<LogSink>> sinks_;
  std::map<core::NodeId, std::size_t> in_flight_;
  std::map<std::pair<core::NodeId, std::string>, std::size_t> of_user_;  // in flight
  std::map<std::uint64_t, Pending> pending_;
  std::uint64_t next_id_ = 1;
  bool stopping_ = false;
};

}  // namespace glim::server
