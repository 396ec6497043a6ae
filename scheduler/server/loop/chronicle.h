// Chronicle: what a commit tells people. The core notes what it did in few words; here they are completed from the rows
// (which nodes, who, how long), what only the rows show is added (saved, left, resumed, silent), and a job that ends
// gets the record that outlives its rows.
//
// Pure: reads its arguments, nothing else. Rows of one batch are looked at in the order in which they were written.
#pragma once

#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/transition.h"
#include "scheduler/store/contract/ended_job.h"

namespace glim::server {

struct Chronicle {
  std::vector<core::Mutation> mutations;  // as given, history completed
  std::vector<store::EndedJob> ended;
  bool has_history = false;
};

// `before`: the rows as of the last commit; `after`: with the mutations.
Chronicle MakeChronicle(const core::Tables& before, const core::ClusterState& after,
                        const std::vector<core::Mutation>& mutations, TimePoint now);

}  // namespace glim::server
