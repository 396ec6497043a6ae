// Many agents in one program, each with a real stream, whose tasks end at once: what an agent is told to launch it
// reports as running and then, without being asked again, as ended with 0 and released.
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

class StartsAgents {
 public:
  struct Options {
    std::string server;  // HOST:PORT
    std::uint32_t agents = 1250;
    bool running_first = true;  // a task is reported as running before its end; else its end is all that is told
  };

  // Connects them all at once. `hello` makes the first message of the agent with that number, from 1.
  StartsAgents(const Options& options, const std::function<v1::Hello(std::uint32_t)>& hello);
  ~StartsAgents();  // ends the streams and waits until they have ended

  // Until each has reported once; false if it takes longer, or if a stream ended: then error() says which.
  bool WaitReported(std::chrono::seconds patience);
  std::string error();  // empty: all streams live

  // Jobs whose first task was launched. Any thread.
  std::int64_t launched_jobs() const { return launched_jobs_.load(std::memory_order_relaxed); }
  std::int64_t reports() const { return reports_.load(std::memory_order_relaxed); }

 private:
  class Agent;

  void Reported();
  void Ended(const std::string& error);

  std::atomic<std::int64_t> launched_jobs_ = 0;
  std::atomic<std::int64_t> reports_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t reported_ = 0;
  std::uint32_t alive_ = 0;
  bool closing_ = false;
  std::string error_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

}  // namespace glim::bench
