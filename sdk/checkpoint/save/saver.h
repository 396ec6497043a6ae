// Saving in two steps: the caller's tensors are copied aside at once, a background thread makes them durable.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/format/tensor.h"
#include "sdk/checkpoint/io/file_writer.h"
#include "sdk/checkpoint/save/replica_sink.h"

namespace glim::device {
class Runtime;
}

namespace glim::checkpoint {

// What a save does that finds no free image, because those before it are not durable yet: wait, or be left out.
enum class WhenBusy : std::uint8_t { kWait, kSkip };

struct SaverOptions {
  std::string path;           // the checkpoints' directory
  std::string job;            // whose it is
  std::uint32_t attempt = 1;  // a new number for each launch of the job: what an earlier one left is never built upon
  // What it goes on from, where an authority says so (Directory::BeginAttemptFrom); else the directory's rule chooses.
  bool base_is_told = false;
  std::optional<CheckpointId> told_base;
  std::uint32_t rank = 0;  // of the writers
  std::uint32_t world = 1;
  WhenBusy when_busy = WhenBusy::kWait;  // kSkip with one writer only: the others would wait for what never comes
  std::uint32_t images = 1;              // saves on their way at once, 1 or 2; each holds as much memory as the shard
  std::uint64_t reserve_bytes = 0;       // of a shard, about: memory made ready in the background before the first save
  std::uint64_t split_bytes = std::uint64_t{256} << 20;  // replicated tensors are dealt out in such parts
  IoOptions io;
  // Writers take turns: so many at once to one file system from this machine, by tickets in `turns_folder`, which all
  // of them share (io/target_limit.h). Empty: no limit. Who waits longer than parts_timeout_ms writes all the same.
  std::string turns_folder;
  std::uint32_t writers_per_target = 2;
  KeepRule keep;
  std::int64_t parts_timeout_ms = 300'000;  // rank 0 waits so long for the other ranks' parts
  std::uint32_t copy_threads = 1;
  // For tensors on a device. nullptr: CUDA's runtime, if this process has loaded it. `compute_stream`: the stream that
  // wrote a device's tensors, asked by SaveAsync; empty: the default one. Unverified on real CUDA.
  std::shared_ptr<const device::Runtime> device_runtime;
  std::function<void*(int device)> compute_stream;
  std::shared_ptr<ReplicaSink> replica;  // a second copy of each shard; nullptr: none. Used by this saver alone
};

struct SaveReport {
  std::uint64_t step = 0;
  std::string path;                  // of the checkpoint's folder
  std::uint64_t bytes = 0;           // of this rank's shard
  std::int64_t stall_micros = 0;     // what the caller waited: for a free image, for the layout, and for the copy
  std::int64_t copy_micros = 0;      // of that, the copy (of a first save, with the first touch of the memory)
  std::int64_t checksum_micros = 0;  // beside the writing, on a thread of its own
  std::int64_t queued_micros = 0;    // for its turn at the target
  std::int64_t durable_micros = 0;   // from the call to the published manifest (of ranks but 0: to the published part)
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

// Called by one thread (the trainer's); owns one background thread and the buffers, which are kept from save to save.
class Saver {
 public:
  // Begins the attempt (Directory::BeginAttempt). `now_ms` is asked for created_at and ages, from the background
  // thread.
  static Result<std::unique_ptr<Saver>> Create(const SaverOptions& options, std::function<std::int64_t()> now_ms);
  virtual ~Saver() = default;  // waits for what is on its way

  // Returns when the tensors' memory may change again. nullptr: skipped, because one is on its way (WhenBusy::kSkip).
  // Bad tensors or metadata are INVALID_ARGUMENT, no memory is RESOURCE_EXHAUSTED, and a device's failures are what
  // sdk/device says; they disturb nothing. What fails later
  // fails the handle: ALREADY_EXISTS for a step that this attempt has saved, DEADLINE_EXCEEDED naming the ranks whose
  // part did not come, SUPERSEDED when a higher attempt has begun, and what FileWriter and Directory say. The next save
  // works again. `on_done` (may be empty, must not throw) is called once, from the background thread, before Wait
  // returns.
  virtual Result<std::shared_ptr<SaveHandle>> SaveAsync(std::uint64_t step, std::span<const SaveTensor> tensors,
                                                        const std::map<std::string, std::string>& metadata,
                                                        std::function<void(const Result<SaveReport>&)> on_done) = 0;

  // Waits for all that is under way, the removal of old checkpoints too.
  virtual void Drain() = 0;

  // What this attempt goes on from.
  virtual const std::optional<CheckpointId>& base() const = 0;
};

}  // namespace glim::checkpoint
