// All pages of a list of jobs.
#pragma once

#include <vector>

#include "cli/rpc/client.h"

namespace glim::cli {

// At most 100'000. `request`: the filters; its page fields are set here.
Result<std::vector<glim::v1::Job>> ListAllJobs(Client& client, glim::v1::ListJobsRequest request);

}  // namespace glim::cli
