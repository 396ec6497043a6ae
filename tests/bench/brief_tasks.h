// Tasks that end at once: what a node is told to launch it reports as running and then, without being asked again, as
// ended with 0 and released.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "tests/bench/bench_agents.h"

namespace glim::bench {

class BriefTasks final : public BenchNode {
 public:
  // `running_first`: a task is reported as running before its end; else its end is all that is told. `launched_jobs`
  // counts jobs whose first task was launched here, and lives longer.
  BriefTasks(bool running_first, std::atomic<std::int64_t>* launched_jobs)
      : running_first_(running_first), launched_jobs_(launched_jobs) {}

  void TakeIn(const v1::DesiredState& desired) override;
  bool Report(v1::NodeReport* report) override;

 private:
  struct Known {
    v1::AttemptRef attempt;
    std::uint32_t index = 0;
    bool told_running = false;
  };

  const bool running_first_;
  std::atomic<std::int64_t>* const launched_jobs_;
  std::vector<Known> tasks_;
};

}  // namespace glim::bench
