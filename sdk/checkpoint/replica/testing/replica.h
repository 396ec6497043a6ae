// For tests: services in a thread or a process of their own, and shards with their parts.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/replica/replica.h"
#include "sdk/checkpoint/replica/replica_service.h"
#include "sdk/checkpoint/replica/token.h"
#include "sdk/net/socket.h"

namespace glim::checkpoint::testing {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr char kSecret[] = "the tests' own secret";
inline constexpr char kJob[] = "17";

// One rank's share of a save: a tensor "w" by rows (U8), each byte of which follows from (id, its place in the tensor).
struct Share {
  CheckpointId id;
  std::vector<std::byte> image;
  std::string part_json;
};
Share MakeShare(CheckpointId id, std::uint32_t rank, std::uint32_t world, std::uint64_t rows);
// The whole tensor, as loading it should give.
std::vector<std::byte> WholeTensor(CheckpointId id, std::uint32_t world, std::uint64_t rows);

// UCX's transports: tcp, shared memory and, where this machine has a port, verbs.
std::vector<const char*> Wires();

ReplicaOptions OptionsFor(const std::string& tls, std::uint32_t attempt, std::uint32_t rank, std::uint32_t world);

std::string ReplicaProgram();  // glim-replica's path

// Starts to send and waits.
Result<ReplicaReport> Send(ReplicaSink& sink, const Share& share);

class ThreadService {
 public:
  explicit ThreadService(ReplicaServiceOptions options);
  ~ThreadService();
  const std::string& address() const { return service_->address(); }

 private:
  std::unique_ptr<ReplicaService> service_;
  std::thread thread_;
};

// The program glim-replica. The secret comes to it through a descriptor.
class ProcessService {
 public:
  ProcessService(const std::string& tls, const std::string& memory, const std::string& listen = "127.0.0.1:0");
  ~ProcessService() { End(9); }
  const std::string& address() const { return address_; }
  pid_t pid() const { return pid_; }
  // Sends the signal and waits for the end; returns what waitpid says.
  int End(int signal);

 private:
  pid_t pid_ = -1;
  UniqueFd errors_;  // its standard error, open for as long as it runs
  std::string address_;
};

}  // namespace glim::checkpoint::testing
