// A scheduler for tests: a real gRPC server that says what the test wants and remembers what the agent reports.
// Thread-safe.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "glim/v1/agent_api.grpc.pb.h"
#include "sdk/base/testing/waits.h"

namespace glim::nodeagent {

class FakeScheduler final : public v1::AgentApi::Service {
 public:
  FakeScheduler();
  ~FakeScheduler() override;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }
  void set_report_every_ms(int ms);
  // What each Welcome from now on names as the cluster's checkpoint root.
  void NameRoot(const std::string& root, const std::string& marker);
  // And as the folder for logs.
  void NameLogsRoot(const std::string& root);
  // And of replicas' keys, and whether users on the fabric trust each other.
  void TellReplicas(std::vector<std::string> keys, bool private_fabric);
  // Who answers agents that ask what may go of jobs' saves; without, that it is not known.
  using SavesAnswer = std::function<grpc::Status(const v1::SavesHeld&, v1::SavesVerdict*)>;
  void AnswerSaves(SavesAnswer answer);
  // What each Welcome from now on says of the scheduler's epoch.
  void set_epoch(std::uint64_t epoch);
  // And of the protocol's version; 0: nothing, as the first release.
  void set_protocol_version(std::uint32_t version);
  // Every Hello is refused with this until it is cleared with an OK status.
  void Refuse(grpc::Status status);

  // Remembered, and sent now and after each Welcome.
  void Want(const v1::DesiredState& set);
  // Sent once to the agent that is connected, as a stale scheduler would.
  bool SendOnce(const v1::DesiredState& set);
  void Disconnect();

  bool WaitHello(int count);
  v1::Hello last_hello();
  int hellos();  // how many streams were begun
  // The first report of the newest stream, from now on (its newest one included), for which `check` holds.
  std::optional<v1::NodeReport> WaitReport(const std::function<bool(const v1::NodeReport&)>& check,
                                           std::chrono::milliseconds bound = kLongWait);
  int reports();
  v1::NodeReport newest();

  // Asks for a log over the ServeLogs stream, waiting for the stream if needed.
  std::optional<v1::LogChunk> Fetch(v1::LogRequest request);
  v1::LogChunk introduction();

 private:
  using SyncStream = grpc::ServerReaderWriter<v1::SchedulerMessage, v1::AgentMessage>;
  using LogStream = grpc::ServerReaderWriter<v1::LogRequest, v1::LogChunk>;

  grpc::Status Sync(grpc::ServerContext* context, SyncStream* stream) override;
  grpc::Status ServeLogs(grpc::ServerContext* context, LogStream* stream) override;
  grpc::Status ReviewSaves(grpc::ServerContext* context, const v1::SavesHeld* held, v1::SavesVerdict* verdict) override;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  int report_every_ms_ = 1000;
  grpc::Status refusal_;
  std::uint64_t epoch_ = 1;
  std::uint32_t protocol_version_ = 1;
  std::string root_;
  std::string marker_;
  std::string logs_root_;
  std::vector<std::string> replica_keys_;
  bool private_fabric_ = false;
  SavesAnswer saves_answer_;
  SyncStream* sync_ = nullptr;
  grpc::ServerContext* sync_context_ = nullptr;
  LogStream* logs_ = nullptr;
  std::optional<v1::DesiredState> wanted_;
  v1::Hello hello_;
  int hellos_ = 0;
  int reports_ = 0;
  v1::NodeReport newest_;
  v1::LogChunk introduction_;
  std::uint64_t next_request_ = 1;
  std::map<std::uint64_t, v1::LogChunk> chunks_;
};

}  // namespace glim::nodeagent
