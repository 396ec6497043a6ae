// PassLog: the newest planning passes and commits, for those who ask how the scheduler is doing: how long they took,
// how often they came, what woke them. Bounded: the newest kPassesKept of each. The strand adds, any thread reads.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/event.h"

namespace glim::server {

inline constexpr std::size_t kPassesKept = 1024;

// Of the kept ones. Percentiles by nearest rank.
struct Timings {
  std::uint64_t count = 0;  // in all
  std::int64_t last_us = 0, p50_us = 0, p99_us = 0, max_us = 0;
  std::size_t over = 0;
  Duration in;  // from the first of the kept to the last
};

struct PassFigures {
  Timings passes, commits;
  TimePoint last_pass_at;
  std::string last_woken_by;
  std::vector<std::pair<std::string, std::uint64_t>> woken_by;  // the most frequent first
  std::uint64_t starts = 0;
  TimePoint next_deadline;  // 0: none
  TimePoint look_again;     // when the planner looks again by itself; 0: it does not
};

class PassLog {
 public:
  struct Pass {
    TimePoint at;
    std::int64_t us = 0;
    const char* woken_by = "";  // a constant
    std::uint32_t starts = 0;
  };
  void AddPass(const Pass& pass);
  void AddCommit(TimePoint at, std::int64_t us);
  void SetDeadlines(TimePoint next, TimePoint look_again);

  PassFigures Read() const;

 private:
  struct Ring {
    std::vector<Pass> kept;
    std::uint64_t count = 0;
    void Add(const Pass& one);
    Timings Read() const;
    const Pass& newest() const { return kept[(count - 1) % kPassesKept]; }
  };

  mutable std::mutex mutex_;
  Ring passes_;   // under mutex_
  Ring commits_;  // likewise
  TimePoint next_deadline_, look_again_;
};

// What an event is to those who ask what woke the planner: "job submitted", "node reported", ...
const char* KindOf(const decltype(core::Event::what)& what);
// Of a batch: what a person asked for stands before what an agent reported, and that before time.
const char* WokenBy(const std::vector<core::Event>& batch);

}  // namespace glim::server
