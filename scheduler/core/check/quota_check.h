// Does everybody keep to the quotas? Reckoned from the rows of quotas, jobs and live attempts alone, without the
// planner's own sums (planning/quota_use.h, model/quota_bounds.h).
//
//   - what runs within the quotas of users, teams and pools fits every number of theirs
//   - what is beyond them counts as class low, and nothing is held to be beyond them that would fit
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

// A sentence for each violation.
std::vector<std::string> CheckQuotas(const ClusterState& state);

}  // namespace glim::core
