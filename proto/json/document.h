// Documents for programs, of the command line (`-o json`, docs/cli.md) and of HTTP: what is added to a message's JSON
// (message_json.h), and their text. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "glim/v1/job.pb.h"
#include "proto/json/message_json.h"

namespace glim::proto {

// GPUs that the job's whole gang has.
inline std::uint64_t GpusOf(const glim::v1::Job& job) {
  return std::uint64_t{job.spec().nodes()} * job.spec().gpus_per_node();
}

inline bool HasSimulatedGpus(const glim::v1::Attempt& attempt) {
  for (const auto& task : attempt.tasks()) {
    if (task.simulated_gpus()) return true;
  }
  return false;
}

// Of the newest attempt: a job that has none yet holds no GPUs.
inline bool HasSimulatedGpus(const glim::v1::Job& job) {
  return job.attempts_size() > 0 && HasSimulatedGpus(job.attempts(job.attempts_size() - 1));
}

// As MessageJson, and "gpus" (in all) and "gpus_simulated" (of the newest attempt).
Json JobJson(const glim::v1::Job& job);

// One line and a newline, safe for a terminal: broken UTF-8 is replaced, and what JSON lets through raw (DEL, C1,
// direction overrides) becomes \uXXXX, as control characters do.
std::string DumpJson(const Json& document);

}  // namespace glim::proto
