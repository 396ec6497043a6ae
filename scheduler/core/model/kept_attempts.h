// What a job keeps of its attempts and their tasks once these are no rows any more. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sdk/base/time.h"

namespace glim::core {

// Ended attempts of a job that goes on are rows as long as they are among its newest; the history has them all.
inline constexpr std::uint32_t kAttemptsKept = 8;

// The first attempt that may be a row, of a job whose newest is this one; from 1.
inline std::uint32_t OldestKept(std::uint32_t newest) { return newest > kAttemptsKept ? newest - kAttemptsKept : 1; }

// What a job keeps of its attempts that are no longer rows.
struct EarlierAttempts {
  std::uint32_t count = 0;
  TimePoint started_at;         // the first had all its nodes; 0: none of them had
  Duration waited;              // queued, until all nodes were held
  bool ran = false;             // one was seen running
  bool simulated_gpus = false;  // some of what they had was simulated
  friend bool operator==(const EarlierAttempts&, const EarlierAttempts&) = default;
};

// What is kept of an ended attempt's tasks once they are no rows any more: a run of neighbours that ended alike.
struct EndedTasks {
  std::uint32_t count = 0;     // of tasks, by index, after those of the runs before
  std::int32_t exit_code = 0;  // -1: nobody knows it
  std::int64_t step = -1;      // of the rank that was farthest behind
  std::string message;
  friend bool operator==(const EndedTasks&, const EndedTasks&) = default;
};
inline constexpr std::size_t kEndedTasksKept = 16;  // runs of an attempt: the tasks behind them are forgotten

}  // namespace glim::core
