// A store as a busy cluster leaves it behind: so many nodes, each with a running job, and so many jobs that wait.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/status.h"

namespace glim::bench {

inline constexpr char kClusterId[] = "glim-bench-recovery";

struct FillOptions {
  std::string store;             // URL; a new one
  std::uint32_t running = 1000;  // jobs, each of one node
  std::uint32_t queued = 10'000;
};

std::string NodeName(std::uint32_t number);  // from 1

// Every row comes from the core itself: nodes that register, submissions, reports of tasks that run.
Status Fill(const FillOptions& options);

}  // namespace glim::bench
