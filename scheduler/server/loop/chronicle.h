// Chronicle: what a commit adds to the history beside the entries that the core noted: a job that ends gets the record
// that outlives its rows.
//
// Pure: reads its arguments, nothing else. Rows of one batch are looked at in the order in which they were written.
#pragma once

#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/transition.h"
#include "scheduler/store/contract/ended_job.h"

namespace glim::server {

struct Chronicle {
  std::vector<store::EndedJob> ended;
  bool has_history = false;  // the core noted something
};

// `before`: the rows as of the last commit.
Chronicle MakeChronicle(const core::Tables& before, const std::vector<core::Mutation>& mutations);

// The record of a job that has not ended, as if it ended now; its ledger is as of the last booking.
store::EndedJob RecordSoFar(const core::Tables& tables, const core::Job& job, TimePoint now);

}  // namespace glim::server
