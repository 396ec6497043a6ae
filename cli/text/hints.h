// What is known of failures that many meet: one line that says how to mend it. The list is data, in hints.cc. Pure.
#pragma once

#include <string>

#include "glim/v1/job.pb.h"

namespace glim::cli {

// Of a failed attempt of a job with this spec; empty when nothing is known.
std::string HintFor(const glim::v1::JobSpec& spec, const glim::v1::Attempt& attempt);

// Of the job's newest attempt, if the job has failed.
std::string HintFor(const glim::v1::Job& job);

}  // namespace glim::cli
