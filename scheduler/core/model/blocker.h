// Blocker: one reason why a job is not running.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/core/model/ids.h"

namespace glim::core {

enum class BlockerKind : std::uint8_t {
  kNodesBusy,
  kQuota,
  kInfeasible,
  kMinRun,
  kLinkBusy,
  kBackoff,
  kBackfillHold,
  kClaiming,
  kNotPlanned,
  kDependency,
  kTimeSlice,
  kCheckpointOn,
  kOrphan,
  kNodesOut,
  kUserDisabled,
  kPoolNotAllowed,
  kUser,
  kReserved,
  kStartAfter,
  kBudget
};
const char* ToString(BlockerKind kind);

// With amounts.
struct Blocker {
  BlockerKind kind = BlockerKind::kNotPlanned;
  std::string message;
  std::int64_t have = 0;
  std::int64_t need = 0;
  std::vector<JobId> jobs;
  friend bool operator==(const Blocker&, const Blocker&) = default;
};

}  // namespace glim::core
