#include "scheduler/server/agents/log_broker.h"

#include <chrono>
#include <utility>
#include <vector>

namespace glim::server {
namespace {

constexpr std::size_t kInFlightMax = 64;
constexpr std::size_t kInFlightOfUserMax = 16;
constexpr std::int64_t kAnswerSlackMs = 10'000;

grpc::Status LogsAreStopping() { return {grpc::StatusCode::UNAVAILABLE, "the scheduler is stopping"}; }

Status NoStream() {
  return Status(StatusCode::kUnavailable, "the node's agent does not serve logs at the moment")
      .WithReason("NO_LOG_STREAM")
      .WithFix("see the node's state with glim nodes; the log stays on the node");
}

// `user` empty: all of them together.
Status Busy(const std::string& user) {
  return Status(StatusCode::kResourceExhausted,
                user.empty() ? "as many logs are being read from this node as may be: " + std::to_string(kInFlightMax)
                             : "user " + user + " reads as many logs from this node as a user may: " +
                                   std::to_string(kInFlightOfUserMax))
      .WithReason("LOG_BUSY")
      .WithFix("try again in 2 s");
}

}  // namespace

void LogBroker::Attach(core::NodeId node, std::shared_ptr<LogSink> sink) {
  const auto old = std::exchange(sinks_[node], std::move(sink));
  if (old) old->End({grpc::StatusCode::ABORTED, "replaced by a newer stream of the same machine"});
  if (stopping_) sinks_[node]->End(LogsAreStopping());
}

void LogBroker::Stop() {
  stopping_ = true;
  const auto sinks = sinks_;  // ending one detaches it
  for (const auto& [node, sink] : sinks) sink->End(LogsAreStopping());
}

void LogBroker::EndNode(core::NodeId node, const grpc::Status& status) {
  const auto it = sinks_.find(node);
  if (it == sinks_.end()) return;
  const std::shared_ptr<LogSink> sink = it->second;  // ending it detaches it
  sink->End(status);
}

void LogBroker::Detach(core::NodeId node, const LogSink* sink) {
  const auto it = sinks_.find(node);
  if (it == sinks_.end() || it->second.get() != sink) return;
  sinks_.erase(it);
  std::vector<std::uint64_t> lost;
  for (const auto& [id, pending] : pending_) {
    if (pending.node == node) lost.push_back(id);
  }
  for (const std::uint64_t id : lost) Complete(id, NoStream());
}

void LogBroker::Fetch(core::NodeId node, const std::string& user, v1::LogRequest request, Done done) {
  const auto sink = sinks_.find(node);
  if (sink == sinks_.end()) {
    strand_->Post([done = std::move(done)] { done(NoStream()); });
    return;
  }
  const auto of_user = of_user_.find({node, user});
  const bool by_user = of_user != of_user_.end() && of_user->second >= kInFlightOfUserMax;
  if (by_user || in_flight_[node] >= kInFlightMax) {
    strand_->Post([done = std::move(done), status = Busy(by_user ? user : "")] { done(status); });
    return;
  }
  const std::uint64_t id = next_id_++;
  request.set_id(id);
  Pending pending{node, user, std::move(done), std::make_unique<boost::asio::steady_timer>(strand_->io())};
  pending.timer->expires_after(std::chrono::milliseconds(request.wait_ms() + kAnswerSlackMs));
  pending.timer->async_wait([this, id](const boost::system::error_code& error) {
    if (error) return;
    Complete(id, Status(StatusCode::kDeadlineExceeded, "the node's agent did not answer")
                     .WithReason("LOG_TIMEOUT")
                     .WithFix("try again; see the node's state with glim nodes"));
  });
  pending_.emplace(id, std::move(pending));
  ++in_flight_[node];
  ++of_user_[{node, user}];
  sink->second->Send(request);
}

void LogBroker::Answer(core::NodeId node, v1::LogChunk chunk) {
  const auto it = pending_.find(chunk.id());
  if (it == pending_.end() || it->second.node != node) return;
  const std::uint64_t id = chunk.id();
  Complete(id, std::move(chunk));
}

void LogBroker::Complete(std::uint64_t id, Result<v1::LogChunk> result) {
  const auto it = pending_.find(id);
  if (it == pending_.end()) return;
  Pending pending = std::move(it->second);
  pending_.erase(it);
  pending.timer->cancel();
  if (--in_flight_[pending.node] == 0) in_flight_.erase(pending.node);
  if (const auto user = of_user_.find({pending.node, pending.user}); --user->second == 0) of_user_.erase(user);
  pending.done(std::move(result));
}

}  // namespace glim::server
