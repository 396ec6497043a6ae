// Whose fault a failed start is: the node's, which is then chosen last, or the job's own, which no other try mends.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

struct StartVerdict {
  bool jobs_fault = false;
  std::string message;          // with jobs_fault: what is wrong and what to do
  std::vector<NodeId> cleared;  // blamed for an earlier try, wrongly: once for each blame
};

// The agents say what no node would mend (job_fault). A path that is not there may be a file system that one node
// lacks: it is the job's fault when a second node says the same, in this attempt or in those right before.
StartVerdict JudgeStart(const ClusterState& state, const Attempt& ended);

}  // namespace glim::core
