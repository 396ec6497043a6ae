// Many agents in one program, each with a real stream to the scheduler. What an agent says of its node is a
// BenchNode's; the streams are here.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "glim/v1/agent_api.grpc.pb.h"

namespace glim::bench {

// One agent calls it, one call at a time.
class BenchNode {
 public:
  virtual ~BenchNode() = default;
  // What the scheduler wants it to run now.
  virtual void TakeIn(const v1::DesiredState& desired) = 0;
  // Puts its tasks into a report. True: what is true then is another thing already, and is reported at once.
  virtual bool Report(v1::NodeReport* report) = 0;
};

class BenchAgents {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    std::string server;  // HOST:PORT
    std::uint32_t agents = 1250;
    // Of the agent with that number, from 1: its first message, and its node.
    std::function<v1::Hello(std::uint32_t)> hello;
    std::function<std::unique_ptr<BenchNode>(std::uint32_t)> node;
  };

  explicit BenchAgents(const Options& options);  // connects them all at once
  ~BenchAgents();                                // ends the streams and waits until they have ended

  // Until each has reported once, the last one at `*at`; false if it takes longer, or if a stream ended: then error()
  // says which.
  bool WaitReported(std::chrono::seconds patience, Clock::time_point* at = nullptr);
  std::string error();  // empty: all streams live

  std::int64_t reports() const { return reports_.load(std::memory_order_relaxed); }

 private:
  class Agent;

  void Reported();
  void Ended(const std::string& error);

  std::atomic<std::int64_t> reports_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t reported_ = 0;
  Clock::time_point last_reported_;
  std::uint32_t alive_ = 0;
  bool closing_ = false;
  std::string error_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

}  // namespace glim::bench
