// Names of the things the scheduler knows. Values only.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include "sdk/base/strong_id.h"

namespace glim::core {

using JobId = StrongId<struct JobTag, std::uint64_t>;
using NodeId = StrongId<struct NodeTag, std::uint32_t>;

// One dispatch of a job's whole gang; numbers start at 1 within a job.
struct AttemptId {
  JobId job;
  std::uint32_t number = 0;

  explicit operator bool() const { return static_cast<bool>(job); }
  friend auto operator<=>(const AttemptId&, const AttemptId&) = default;
};

// An attempt's part on one node; the index is the node rank.
struct TaskId {
  AttemptId attempt;
  std::uint32_t index = 0;

  friend auto operator<=>(const TaskId&, const TaskId&) = default;
};

inline std::string ToString(AttemptId id) { return std::to_string(id.job.value) + "." + std::to_string(id.number); }

}  // namespace glim::core
