// Where a job's log lies: the attempt, and the nodes of its ranks, by one snapshot. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/server/loop/snapshot.h"
#include "sdk/base/result.h"

namespace glim::server {

struct LogSource {
  core::AttemptId attempt;
  std::vector<core::NodeId> nodes;  // by the tasks' indexes
  std::uint32_t ranks_per_node = 1;
  std::int64_t failed_rank = -1;  // that failed first; -1: none
  bool live = false;              // the attempt has not ended

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(nodes.size()) * ranks_per_node; }
  core::NodeId NodeOf(std::uint32_t rank) const { return nodes[rank / ranks_per_node]; }
};

// `attempt` 0: the newest that has started. NOT_FOUND: NO_SUCH_JOB, NO_SUCH_ATTEMPT, ATTEMPT_TOO_OLD, NO_LOG (it never
// will have one), NO_LOG_YET. INVALID_ARGUMENT: NO_SUCH_RANK.
Result<LogSource> FindLogSource(const core::Tables& tables, core::JobId job, std::uint32_t attempt, std::uint32_t rank);

}  // namespace glim::server
