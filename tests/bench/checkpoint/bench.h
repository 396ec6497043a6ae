// What ckpt-bench measures. Each function makes what it needs in a folder of its own below `dir`, which it removes.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/io/file_writer.h"

namespace glim::checkpoint::bench {

struct Setup {
  std::string dir;
  std::uint64_t bytes = std::uint64_t{1} << 30;          // of all tensors
  std::uint64_t tensor_bytes = std::uint64_t{16} << 20;  // of each
  IoOptions io;
  std::uint32_t rounds = 3;  // timed, after one that is not
  std::uint32_t copy_threads = 1;
  bool dropped = false;  // load: from the disk, not from the page cache
};

// Durable saves, each into fresh files.
Result<nlohmann::ordered_json> BenchSave(const Setup& setup);
// What the trainer waits, beside a bare memcpy of the same bytes, by turns.
Result<nlohmann::ordered_json> BenchStall(const Setup& setup);
// Everything, then one tensor alone.
Result<nlohmann::ordered_json> BenchLoad(const Setup& setup);
// The trainer's step time alone, beside a background write, and beside a dummy writer of equal processor time and I/O,
// by turns. The trainer has the first processor to itself, the writer the second.
Result<nlohmann::ordered_json> BenchStep(const Setup& setup);
// A copy into a neighbour's memory over tcp and back, beside bare loops of UCX's puts and gets, by turns. Uses no disk.
Result<nlohmann::ordered_json> BenchReplica(const Setup& setup);

}  // namespace glim::checkpoint::bench
