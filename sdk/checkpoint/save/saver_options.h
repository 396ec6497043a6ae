// What a Saver is told when it is made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sdk/checkpoint/directory/directory.h"
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
  // wrote a device's tensors, asked by SaveAsync; empty: the default one.
  std::shared_ptr<const device::Runtime> device_runtime;
  std::function<void*(int device)> compute_stream;
  std::shared_ptr<ReplicaSink> replica;  // a second copy of each shard; nullptr: none. Used by this saver alone
};

}  // namespace glim::checkpoint
