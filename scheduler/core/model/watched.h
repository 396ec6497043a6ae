// What the present leader has heard of attempts' signs of life. Soft state of ClusterState: never stored, begun anew by
// every leader, kept by lifecycle/watchdog.h alone. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/ids.h"
#include "scheduler/core/model/task_ids.h"
#include "sdk/base/time.h"

namespace glim::core {

struct Watched {
  TimePoint last;     // its newest sign of life, or when this leader began to count; moved on by what does not count
  Duration longest;   // the longest time between two signs that this leader has seen
  bool told = false;  // some agent tells of signs, or a rank of steps: without either nobody can say that it is silent
  struct OfTask {
    bool heard = false;    // this leader has had a report of it
    TimePoint activity{};  // its newest sign by its own node's clock; 0: untold
    TimePoint gpu_busy{};  // likewise of its GPUs at work (idle_gpus.h); 0: nobody watches them
  };
  std::vector<OfTask> tasks{};                   // by index
  std::map<std::uint32_t, std::string> answers;  // by task: what its processes do, of the question that is open
  TimePoint answer_by{};                         // when the open question is given up; 0: none is open
  TimePoint gpu_last{};                          // when GPUs of it were last seen busy, by this clock; 0: untold
  TimePoint due{};                               // when it is looked at; 0: at its next sign
};

struct WatchBook {
  std::map<AttemptId, Watched> attempts;
  std::set<std::pair<TimePoint, AttemptId>> due;  // those that have a moment, in its order
};

}  // namespace glim::core
