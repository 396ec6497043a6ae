// Many agents in one program, each with a real stream: they say hello, and report that what they should run is running.
// The first one reports that its task has ended meanwhile, and so has room for the next job.
#pragma once

#include <grpcpp/grpcpp.h>

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

class RecoveryAgents {
 public:
  using Clock = std::chrono::steady_clock;

  // Connects them all at once. `hello` makes the first message of the agent with that number, from 1.
  RecoveryAgents(const std::string& server, std::uint32_t agents, const std::function<v1::Hello(std::uint32_t)>& hello);
  ~RecoveryAgents();  // ends the streams and waits until they have ended

  struct Times {
    Clock::time_point all_reported;  // the last agent has been welcomed, knows its desired set and has reported
    Clock::time_point first_start;   // the first agent has been told to launch a job that was waiting
  };
  // False if it takes longer, or if a stream ended; then error() says which.
  bool Wait(std::chrono::seconds patience, Times* times);
  std::string error();

 private:
  class Agent;

  void Reported();
  void Launched();
  void Ended(const std::string& error);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint32_t reported_ = 0;
  std::uint32_t alive_ = 0;
  bool launched_ = false;
  bool closing_ = false;
  std::string error_;
  Times times_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<Agent>> agents_;
};

}  // namespace glim::bench
