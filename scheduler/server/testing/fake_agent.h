// An agent as far as the scheduler can tell: a real stream, driven by the test step by step.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "glim/v1/agent_api.grpc.pb.h"
#include "sdk/base/testing/waits.h"

namespace glim::server {

v1::Hello MakeHello(const std::string& cluster_id, const std::string& name);

class FakeAgent {
 public:
  FakeAgent(const std::shared_ptr<grpc::Channel>& channel, const v1::Hello& hello);
  ~FakeAgent();

  // The welcome, if the scheduler gave one in time.
  std::optional<v1::Welcome> WaitWelcome();
  // The newest desired state that satisfies the condition, if one comes in time.
  std::optional<v1::DesiredState> WaitDesired(const std::function<bool(const v1::DesiredState&)>& condition);
  std::optional<v1::DesiredTask> WaitLaunch(std::uint64_t job);
  std::optional<v1::DesiredTask> WaitInterrupt(std::uint64_t job,
                                               const std::function<bool(const v1::InterruptOrder&)>& is);
  std::optional<v1::DesiredTask> WaitStop(std::uint64_t job);

  // The whole observed state, under the epoch and revision of the newest desired state.
  void Report(const std::vector<v1::ObservedTask>& tasks);
  void Send(const v1::AgentMessage& message);
  // What the stream ended with, if it does in time.
  std::optional<grpc::Status> WaitEnd(std::chrono::milliseconds bound = LongWait());
  grpc::Status Close();

 private:
  void Read();
  std::optional<v1::DesiredTask> WaitTask(std::uint64_t job, const std::function<bool(const v1::DesiredTask&)>& is);

  std::unique_ptr<v1::AgentApi::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::SchedulerMessage>> stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<v1::Welcome> welcome_;
  v1::DesiredState desired_;
  std::optional<grpc::Status> end_;
  std::thread reader_;
};

// One rank's task as an agent reports it.
v1::ObservedTask Observed(std::uint64_t job, std::uint32_t attempt, std::uint32_t index, v1::ObservedTask::Phase phase,
                          std::int64_t step = -1);

// Serves logs out of memory: text by "job.attempt.rank".
class FakeLogServer {
 public:
  FakeLogServer(const std::shared_ptr<grpc::Channel>& channel, const v1::Hello& hello);
  ~FakeLogServer();
  void Append(const std::string& log, const std::string& text, bool ended);
  void set_chunk_bytes(std::size_t bytes) { chunk_bytes_ = bytes; }
  // As an agent of the release before that of searches.
  void ForgetSearches() { knows_searches_ = false; }
  int searches() const { return searches_; }
  std::optional<grpc::Status> ended();

 private:
  v1::LogChunk Search(const v1::LogRequest& request);
  void Serve();
  v1::LogChunk Answer(const v1::LogRequest& request);

  std::unique_ptr<v1::AgentApi::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::LogChunk, v1::LogRequest>> stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  struct Log {
    std::string text;
    bool ended = false;
  };
  std::atomic<bool> knows_searches_ = true;
  std::atomic<int> searches_ = 0;
  std::atomic<std::size_t> chunk_bytes_ = 7;  // small, so that a log takes several
  std::map<std::string, Log> logs_;
  std::optional<grpc::Status> end_;
  std::thread server_;
};

}  // namespace glim::server
