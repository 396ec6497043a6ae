// Writes glim-health's file on a thread of its own: a disk that hangs holds up this thread alone. One caller.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "nodeagent/health/wire/health_state.h"

namespace glim::nodeagent::health {

class StateWriter {
 public:
  // The thread lives as long as the program, and so does this.
  explicit StateWriter(std::string path);
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  // Until the file says `state`, or a failure has been told on standard error, or `limit` is over. What waits meanwhile
  // is replaced by what comes later.
  void Write(HealthState state, std::chrono::milliseconds limit);

 private:
  void Run();

  const std::string path_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<HealthState> waiting_;
  std::uint64_t asked_ = 0;
  std::uint64_t done_ = 0;
  bool failed_ = false;
};

}  // namespace glim::nodeagent::health
