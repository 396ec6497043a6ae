// Could this cluster ever run that job? Answered at submission, against every node that has registered, and in every
// pass anew: nodes leave for good and come back as others.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"
#include "sdk/base/status.h"

namespace glim::core {

// What the job asks of each node.
bool Fits(const NodeLabels& labels, const JobSpec& spec);

// placement.node names this node, or none.
bool IsMeant(const std::string& node, const JobSpec& spec);

// The most nodes that the pool has in one of the zones that the job may be in, whatever else it asks of a node. `take`:
// RulesThatTake (node_users.h); nodes that run no job of its user are none of these.
std::size_t LargestZone(const PoolLayout& pool, const JobSpec& spec, const std::vector<bool>& take);

// May a job of this many nodes span two zones, the largest of which has `zone_nodes_max` (LargestZone)?
bool MayCross(const JobSpec& spec, const Policy& policy, std::size_t zone_nodes_max);

// The most nodes that one allocation could have. `by_zone`: nodes that fit the job.
std::size_t MostInOneZone(const std::map<std::string, std::size_t>& by_zone);
std::size_t MostOverALink(const std::map<std::string, std::size_t>& by_zone, const Links& links);

// Will a cross-zone attempt give its link up for certain? An agreement may be withdrawn as long as it is being
// notified. It has the link until it has left it (zone_link.h).
bool LeavesItsLink(const Attempt& attempt);

// A plan keeps a place for it until its deadline.
bool GoesOnElsewhere(const Attempt& attempt);

// Whatever becomes of a preemptor, or of a reservation.
bool LeavesAnyway(const Attempt& attempt);

// kFailedPrecondition, reason INFEASIBLE, with the field and a fix.
Status CheckFeasible(const ClusterState& state, const Policy& policy, const JobSpec& spec, const std::string& user);

}  // namespace glim::core
