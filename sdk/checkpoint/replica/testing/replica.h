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
#include "sdk/checkpoint/replica/service_address.h"
#include "sdk/net/socket.h"

namespace glim::checkpoint::testing {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kJob = 17;
inline constexpr char kUser[] = "kim";
inline constexpr std::uint32_t kLateAttempt = 1000;  // of readers that are of no attempt

// One rank's share of a save: a tensor "w" by rows (U8), each byte of which follows from (id, its place in the tensor).
struct Share {
  CheckpointId id;
  std::vector<std::byte> image;
  std::string part_json;
};
Share MakeShare(CheckpointId id, std::uint32_t rank, std::uint32_t world, std::uint64_t rows);
// The whole tensor, as loading it should give.
std::vector<std::byte> WholeTensor(CheckpointId id, std::uint32_t world, std::uint64_t rows);

// UCX's transports: tcp and, where this machine has a port, verbs.
std::vector<const char*> Wires();

// As a scheduler with a key of the tests' own makes it.
std::string TokenFor(std::uint32_t attempt, std::uint64_t job = kJob, const std::string& user = kUser);
ReplicaIssuers Issuers(bool private_fabric = true);

// attempt 0: only reads, with a late attempt's token.
ReplicaOptions OptionsFor(const std::string& tls, std::uint32_t attempt, std::uint32_t rank, std::uint32_t world);

std::string ReplicaProgram();  // glim-replica's path

// Starts to send and waits.
Result<ReplicaReport> Send(ReplicaSink& sink, const Share& share);

class ThreadService {
 public:
  explicit ThreadService(ReplicaServiceOptions options);
  ~ThreadService();
  // As tasks are told of it, with its key; and without.
  std::string address() const { return PeerText({service_->state().key, place()}); }
  const std::string& place() const { return service_->state().address; }

 private:
  std::unique_ptr<ReplicaService> service_;
  std::thread thread_;
};

// The program glim-replica. All have the same key.
class ProcessService {
 public:
  ProcessService(const std::string& tls, const std::string& memory, const std::string& listen = "127.0.0.1:0");
  ~ProcessService();
  const std::string& address() const { return address_; }
  std::string place() const { return ParsePeer(address_).value().address; }
  pid_t pid() const { return pid_; }
  // Sends the signal and waits for the end; returns what waitpid says.
  int End(int signal);

 private:
  pid_t pid_ = -1;
  std::string folder_;
  UniqueFd errors_;  // its standard error, open for as long as it runs
  std::string address_;
};

}  // namespace glim::checkpoint::testing
