// GPUs in words. Simulated ones are marked wherever they are shown. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "glim/v1/job.pb.h"

namespace glim::cli {

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

// "8" or "8 (simulated)".
inline std::string GpuText(std::uint64_t count, bool simulated) {
  return std::to_string(count) + (simulated ? " (simulated)" : "");
}

}  // namespace glim::cli
