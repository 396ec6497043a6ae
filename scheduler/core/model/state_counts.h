// What status and metrics tell of all jobs and nodes, counted row by row as rows are written: nobody scans them. Plain.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "scheduler/core/model/rows.h"

namespace glim::core {

struct StateCounts {
  std::map<std::pair<std::string, JobState>, std::uint64_t> jobs;    // by pool; none is 0
  std::map<std::pair<std::string, NodeState>, std::uint64_t> nodes;  // by zone; none is 0
  std::uint64_t nodes_simulated = 0;                                 // with simulated GPUs
  // The ledger of all nodes: what is booked, and of the present uses the GPUs and the sum of GPUs x their beginning.
  // Modulo 2^64, as differences of them are right whatever a single sum is.
  using Sums = std::array<std::uint64_t, kUses>;
  Sums booked{};
  Sums gpus{};
  Sums gpus_since{};
  friend bool operator==(const StateCounts&, const StateCounts&) = default;

  void Count(const Job& row, bool add);
  void Count(const Node& row, bool add);

  std::uint64_t JobsIn(JobState state) const;  // of all pools
  std::uint64_t NodesIn(NodeState state) const;
  // GPU-milliseconds of all nodes up to then, which is not before any of them was last written.
  UseTotals UsesUntil(TimePoint now) const;
};

}  // namespace glim::core
