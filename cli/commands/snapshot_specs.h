// The snapshots of jobs that are about to be submitted or planned.
#pragma once

#include <vector>

#include "cli/commands/command.h"
#include "glim/v1/job.pb.h"

namespace glim::cli {

// Packs the workdirs of those specs that ask for it (take_snapshots.h); asks the scheduler where archives lie, and not
// at all if no spec asks. `write` as there.
Status AddSnapshots(CommandContext& context, bool write, std::vector<glim::v1::JobSpec>* specs);

}  // namespace glim::cli
