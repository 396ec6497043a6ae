// A request to leave by a signal, from the moment it is sent until nothing of it is left to do: which processes get it
// and when is nodeagent/core/asked_processes.h. Of one thread, the shim's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "nodeagent/core/asked_processes.h"
#include "nodeagent/os/processes.h"
#include "nodeagent/task/shim_control.h"

namespace glim::nodeagent {

class LeaveRequest {
 public:
  // The task's processes as they are now, without its supervisor and its container's first process.
  using List = std::function<std::vector<ProcessInfo>()>;

  // Sends the signal. `ranks`: the first process of each rank that has not ended. `now_ms`: of a clock that is never
  // set back, like those below.
  LeaveRequest(const SignalOrder& order, List list, const std::set<pid_t>& ranks, std::int64_t now_ms);

  // To be called every kPauseMs until is_over().
  static constexpr std::int64_t kPauseMs = 20;
  void Continue(std::int64_t now_ms);
  bool is_over() const { return phase_ == Phase::kOver; }

  // What is stopped goes on: whoever sends another signal to all of the task calls this after it.
  void LetGoOn();

 private:
  enum class Phase { kAsked, kLingering, kHelpers, kOver };

  struct Helper {
    ProcessInfo process;
    std::optional<std::uint64_t> switches;  // when it was looked at last
  };

  void AskThoseThatAreLate();
  void EndThoseAbove(std::int64_t now_ms);
  void EndIdleHelpers(std::int64_t now_ms);

  const SignalOrder order_;
  const List list_;
  const std::int64_t late_at_ms_;
  Phase phase_ = Phase::kAsked;
  bool asked_late_ = false;
  std::int64_t beside_at_ms_ = 0, helpers_at_ms_ = 0;
  std::vector<ProcessInfo> asked_, stopped_, above_, beside_;
  std::vector<Helper> helpers_;
};

}  // namespace glim::nodeagent
