// A cluster's past as the files that glim-sim plays (docs/simulator.md). Pure.
//
// What a job did is not what it would do elsewhere; how its length is taken from what is stored:
//   - the GPU-time that it had, without restoring, starting and stopping, over the GPUs of its nodes; of a job that
//     succeeded without what was lost, for that was done twice; where its pool has no GPUs: the time that it had nodes
//   - submitted before the first moment: as much of that as lies behind it, in proportion. It is played as load from
//     the first moment on, and counts in no figure; so is what has not ended, with what it had until now
//   - what never had nodes has no length, and is left out
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glim/v1/admin_api.pb.h"
#include "glim/v1/sched_api.pb.h"
#include "sdk/base/time.h"

namespace glim::cli {

struct Past {
  std::string jobs_csv, nodes_csv, quotas_csv;
  std::uint32_t days = 0;       // of 24 hours, from the first moment on; the last may be shorter
  std::uint32_t days_used = 0;  // on which a counted job was submitted
  std::size_t counted = 0;
  // What the figures are without, or have only as load.
  std::size_t carried_in = 0, unfinished = 0, never_ran = 0;
  std::size_t failures = 0;  // restarts after failures, which are not played
  std::string restore;       // "40s,60s": what coming back cost; as it was, or a guess
  bool restore_known = false;
};

Past PastOf(const std::vector<glim::v1::PastJob>& jobs, const std::vector<glim::v1::PastNode>& nodes,
            const glim::v1::ListAccountsResponse& accounts, TimePoint since, TimePoint until);

}  // namespace glim::cli
