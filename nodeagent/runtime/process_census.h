// Who belongs to a task where there are no groups to ask: processes whose environment names the task's socket, and all
// below them. Who clears its environment and outlives its shim is not known by that; BegunSince has it among others.
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
  // Every process of `users` that began at `ticks` (clock ticks since boot) or later, but this one, what is above and
  // below it, and what is marked with another socket: where nobody kept an account of a task, its processes are among
  // these, with others of the same users.
  std::vector<ProcessInfo> BegunSince(std::uint64_t ticks, const std::string& socket, const std::set<uid_t>& users);
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
