// Writes a job's spec as the job file that says the same: ReadSpecs (spec_reader.h) gives the same message again. Two
// things are not the same: a snapshot (`code: snapshot` packs the workdir as it is then), and sizes that are no whole
// KiB, which a file cannot say and which are rounded up. What is not said is left out; a default is written, so that a
// file means the same where defaults have changed. Any thread.
#pragma once

#include <string>

#include "glim/v1/job.pb.h"

namespace glim::jobfile {

std::string PrintSpec(const glim::v1::JobSpec& spec);

}  // namespace glim::jobfile
