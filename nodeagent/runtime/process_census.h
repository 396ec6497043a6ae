// Who belongs to a task where there are no groups to ask: processes whose environment names the task's socket, and all
// below them. Best effort: who clears its environment and outlives its shim is not seen.
//
// One look at /proc serves all tasks. A look costs at most a twentieth of one core, however many processes there are:
// the next one comes no sooner than twenty times what the last one took. On the agent's loop.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "nodeagent/os/processes.h"

namespace glim::nodeagent {

class ProcessCensus {
 public:
  // Those marked with `socket`, what is below them and below `shim` (0: none); as of the newest look. Of marked ones
  // those count that `users` started: what somebody else on the node writes into an environment means nothing.
  std::vector<ProcessInfo> Of(const std::string& socket, pid_t shim, const std::set<uid_t>& users);
  // Grows with each look. Two answers of one look are one answer.
  std::uint64_t looks() const { return looks_; }

 private:
  using Clock = std::chrono::steady_clock;

  void LookIfDue();
  void Mark(const ProcessInfo& process);

  std::vector<ProcessInfo> all_;
  std::map<std::string, std::map<pid_t, uid_t>> marked_;  // by the socket's path: who was started by whom
  Clock::time_point next_{};
  std::uint64_t looks_ = 0;
};

}  // namespace glim::nodeagent
