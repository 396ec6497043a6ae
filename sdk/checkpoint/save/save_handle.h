// What a caller holds of one save, and what it is told in the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/io/file_writer.h"
#include "sdk/checkpoint/save/replica_sink.h"

namespace glim::checkpoint {

struct SaveReport {
  std::uint64_t step = 0;
  std::string path;                  // of the checkpoint's folder
  std::uint64_t bytes = 0;           // of this rank's shard
  std::int64_t stall_micros = 0;     // what the caller waited: for a free image, for the layout, and for the copy
  std::int64_t copy_micros = 0;      // of that, the copy (of a first save, with the first touch of the memory)
  std::int64_t checksum_micros = 0;  // beside the writing, on a thread of its own
  std::int64_t queued_micros = 0;    // for its turn at the target
  std::int64_t durable_micros = 0;   // from the call to the published manifest (of ranks but 0: to the published part)
  std::uint64_t made_room = 0;       // how often an older checkpoint was removed for it: the disk or quota was full
  IoReport io;
  std::optional<Result<ReplicaReport>> replica;  // of SaverOptions::replica; its failure is not the save's
  Status pruned;  // of removing old checkpoints after the save before this one: that one is durable all the same
};

// One save on its way. Copies are the same save; any thread.
class SaveHandle {
 public:
  virtual ~SaveHandle() = default;
  // Whether WaitDurable would return at once.
  virtual bool done() const = 0;
  // Waits. The status of a failed save names what failed; the checkpoint before is untouched.
  virtual Result<SaveReport> Wait() = 0;
  // The same, but not for the replica, of which the report says nothing where it is still on its way.
  virtual Result<SaveReport> WaitDurable() = 0;
};

}  // namespace glim::checkpoint
