// Who is on a node's GPUs, and whether that is more than before a task. Plain values, and how they are written and
// read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.h"

namespace glim::nodeagent {

// A driver keeps a little of a GPU's memory after its last process, and gives some of that back later.
inline constexpr std::int64_t kGpuSlackBytes = std::int64_t{256} << 20;
// What may be in use where nobody knows what was before.
inline constexpr std::int64_t kGpuUsedUnknownBytes = std::int64_t{1} << 30;

struct GpuProcess {
  std::int64_t pid = 0;
  std::int64_t memory_bytes = -1;  // -1: unknown

  friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

struct GpuUse {
  std::uint32_t index = 0;
  std::string uuid;   // empty: it does not say even that
  std::string error;  // why it cannot be told; empty: it can
  std::int64_t used_bytes = 0;
  std::vector<GpuProcess> processes;

  friend bool operator==(const GpuUse&, const GpuUse&) = default;
};

struct NodeUse {
  std::string error;  // why nothing can be told; empty: see each GPU
  std::vector<GpuUse> gpus;

  friend bool operator==(const NodeUse&, const NodeUse&) = default;
};

struct GpuLeft {
  std::string evidence;     // what is on the GPUs, by GPU; empty: they are as before
  std::vector<pid_t> pids;  // whose that is, where that is known; at most 32

  bool empty() const { return evidence.empty(); }
};

// What is there `now` that was not there `before` the task: each process, and memory beyond kGpuSlackBytes. `before` is
// null: unknown, then any process and more than kGpuUsedUnknownBytes. A GPU that cannot be asked is not empty.
GpuLeft LeftOnGpus(const NodeUse& now, const NodeUse* before);

// One line each; `number`: of the question that it answers.
std::string ToLine(std::uint64_t number, const NodeUse& use);
struct UseAnswer {
  std::uint64_t number = 0;
  NodeUse use;
};
Result<UseAnswer> ParseUse(const std::string& line);

}  // namespace glim::nodeagent
