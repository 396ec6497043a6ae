// GoldenInput: the cluster and the queue of a golden decision file (planning/golden/README.md has the grammar), as the
// rows that the planner reads. Put there directly, without events: a file can say what no short history leads to.
#pragma once

#include <string>
#include <string_view>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"

namespace glim::core::testing {

struct GoldenInput {
  Policy policy;
  ClusterState state;
  TimePoint now{Hours(10'000).ms};
  std::string fault;  // the first line that cannot be read, and why; empty: all could
};

GoldenInput ReadGoldenInput(std::string_view text);

}  // namespace glim::core::testing
