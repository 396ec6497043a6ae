// Which rank of an attempt failed first, and how that is told. Pure; pointers are into the tasks handed in.
//
// Exits are told by the nodes' own wall clocks: the order holds as far as those agree.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/rows.h"

namespace glim::core {

struct FailedRank {
  const Task* task = nullptr;
  const Rank* rank = nullptr;
  explicit operator bool() const { return rank != nullptr; }
};

// The first that exited with a code that is not 0: by the time of its exit, then by rank. After `stop_at` (0: no stop
// was ordered) others are killed, and what exits then did not fail by itself; nor is that known of one that does not
// say when. `named`, the rank that the stop was ordered for (-1: none), failed by itself in any case.
FailedRank FirstFailure(const std::vector<const Task*>& tasks, TimePoint stop_at, std::int32_t named);

// "rank 2 on node n1 exited with code 1: ModuleNotFoundError: No module named 'glim'"
std::string DescribeFailure(const std::string& node, const FailedRank& failed);

}  // namespace glim::core
