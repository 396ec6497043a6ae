// A copy of a rank's shard in a neighbour's memory, and loading from there: the client's side of glim-replica.
//
// The neighbour's service is found by KEY@HOST:PORT: which key must answer, and where. Bytes go by UCX's one-sided
// operations, straight from the Saver's image and straight into the tensors' memory; no disk is read or written.
// docs/explanation/checkpoints.md.
//
// Sources: replica_source.cc (loading), replica_writer.cc (copying), replica_absent.cc (a build without UCX)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/checkpoint/load/shard_source.h"
#include "sdk/checkpoint/save/replica_sink.h"

namespace glim::checkpoint {

struct ReplicaOptions {
  std::string token;          // the attempt's (sdk/tokens/replica_token.h); handed over by a file, never by an argument
  std::uint32_t attempt = 1;  // the token's: from the first contact on lower ones are refused; 0: only reads
  std::uint32_t rank = 0;     // of the writers; not used by a source
  std::uint32_t world = 1;
  std::string ucx_tls = "all";     // the service's
  std::string ucx_net_devices;     // empty: the interface towards the service, and InfiniBand
  int service_level = -1;          // InfiniBand's, 0 to 15; -1: the device's
  Duration timeout = Seconds(30);  // without any progress
  Duration pause;                  // of a writer, after a service could not be reached: saves meanwhile fail at once
  std::uint64_t block_bytes = std::uint64_t{4} << 20;  // of one put or get
  std::uint32_t depth = 4;                             // of them under way
};

// Connects at the first save, and anew after a failure. Owns one thread. INVALID_ARGUMENT names the option;
// UNIMPLEMENTED: built without UCX. What Wait may say: UNAVAILABLE (service or network), RESOURCE_EXHAUSTED (its
// budget), UNAUTHENTICATED (the token, or a service with another key), FAILED_PRECONDITION (this attempt is over).
Result<std::unique_ptr<ReplicaSink>> MakeReplicaWriter(const std::string& peer, const ReplicaOptions& options);

// Keeps what it has opened as it is until it goes (a writer that needs the place is refused meanwhile), so it should go
// when the load is over.
class ReplicaSource : public ShardSource {
 public:
  // Checkpoints of which the peers together hold every rank's shard, oldest first. Whether they still count is for the
  // Directory to say; without one, the newest is the best there is.
  virtual Result<std::vector<CheckpointId>> Whole() = 0;
  // How many of the peers answered, and what was wrong with the others ("host:port: ...").
  virtual std::uint32_t connected() const = 0;
  virtual const std::vector<std::string>& failures() const = 0;
  // Which of the peers hold the shards of the checkpoint that was opened last.
  virtual std::vector<std::string> holders() const = 0;
};

// `peers`: each KEY@HOST:PORT, as for a writer. UNAVAILABLE when none of the peers answers; with some, what they hold
// counts.
Result<std::unique_ptr<ReplicaSource>> OpenReplicaSource(const std::vector<std::string>& peers,
                                                         const ReplicaOptions& options);

// Tells a service that the job is over: its copies go, its connections end.
Status DropReplicas(const std::string& peer, const ReplicaOptions& options);

}  // namespace glim::checkpoint
