// Whose fault a failed start is: the node's, which is then left out for a while, or the job's own, which no other try
// mends.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

struct StartVerdict {
  bool jobs_fault = false;
  bool blameless = false;       // storage hangs, or the disk of a node's agent is full: nothing is counted
  std::string message;          // with jobs_fault: what is wrong and what to do
  std::vector<NodeId> cleared;  // blamed for an earlier try, wrongly: once for each blame
};

// The agents say what no node would mend (job_fault). A path that is not there may be a file system that one node
// lacks: it is the job's fault when a second node says the same, in this attempt or in those right before. A path that
// does not answer (hung_path) says nothing of the job, and nothing of a node until it answers on another one
// (hung_storage.h). A node whose disk takes nothing (disk_fault) says so by its fault and is left out for that, not
// suspected. A failure of another kind in the same gang is judged as ever.
StartVerdict JudgeStart(const ClusterState& state, const Attempt& ended);

// Where the tasks of an attempt are yet to be seen running, when its time to start is over: these nodes are to blame.
// Not where a save is still being copied, which says nothing of that node. In rank order.
std::vector<NodeId> SlowToStart(const ClusterState& state, const Attempt& attempt);

}  // namespace glim::core
