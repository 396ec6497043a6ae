// TCP between all pairs of the ranks' nodes, by turns: no node is in two pairs at a time. Alone it is the loopback.
//
// After Holmes (Alibaba, NSDI 2025) in that a link is named by its two ends and compared with all the others of the
// same job.
#pragma once

#include <functional>

#include "nodeagent/programs/validate/options.h"

namespace glim::validate {

// Whether what was measured should be measured once more.
using WantsMore = std::function<bool(const std::vector<Reading>&)>;

// Rank 0 gets all readings, the others none: who asks it says what they mean. `more` is asked on rank 0, after each
// time that all pairs were measured, three times at most. Every rank's program calls it; they find each other by
// GLIM_HOSTS and MASTER_PORT, or by Options::rendezvous. Errors: of the environment; UNAVAILABLE with who is missing.
Readings MeasureNetwork(const Options& options, const WantsMore& more);

}  // namespace glim::validate
