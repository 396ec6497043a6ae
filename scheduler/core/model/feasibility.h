// Could this cluster ever run that job? Answered at submission, against every node that has registered.
#pragma once

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"
#include "sdk/base/status.h"

namespace glim::core {

// What the job asks of each node.
bool Fits(const NodeLabels& labels, const JobSpec& spec);

// May a job of this many nodes span two zones, the largest of which has `zone_nodes_max` that fit?
bool MayCross(const JobSpec& spec, const Policy& policy, std::size_t zone_nodes_max);

// Jobs that may span this pair of zones at a time; 0: never.
std::uint32_t LinkJobsMax(const Policy& policy, const std::string& zone_a, const std::string& zone_b);

// Does a cross-zone attempt give its link up for certain? An agreement may be withdrawn as long as it is being
// notified: who may still stay keeps its link.
bool LeavesItsLink(const Attempt& attempt);

// kFailedPrecondition, reason INFEASIBLE, with the field and a fix.
Status CheckFeasible(const ClusterState& state, const Policy& policy, const JobSpec& spec);

}  // namespace glim::core
