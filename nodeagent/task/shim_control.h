// How the agent speaks to a shim: queued real-time signals through a pidfd. They need no channel that could be lost
// with the agent, cannot reach another process by pid reuse, and a stray `kill PID` does not look like one of them.
#pragma once

#include <signal.h>

#include <algorithm>
#include <cstdint>

namespace glim::nodeagent {

// A request to leave (nodeagent/core/asked_processes.h). Value: ToValue of a SignalOrder.
inline int SignalRanksSignal() { return SIGRTMIN + 4; }
// SIGTERM to every process of the task.
inline int TerminateSignal() { return SIGRTMIN + 5; }
// SIGKILL to every process of the task, again and again until none is left.
inline int KillSignal() { return SIGRTMIN + 6; }

struct SignalOrder {
  int signal = 0;            // 1 to 127
  bool all = false;          // to every process of the task
  std::int64_t late_ms = 0;  // when to ask those that a launcher has kept it from; in steps of 100 ms, 19 days at most
};

inline int ToValue(const SignalOrder& order) {
  const auto steps = static_cast<int>(std::clamp<std::int64_t>(order.late_ms / 100, 0, (1 << 22) - 1));
  return order.signal | (order.all ? 1 << 7 : 0) | steps << 8;
}

inline SignalOrder ToSignalOrder(int value) {
  return {value & 127, (value & 1 << 7) != 0, static_cast<std::int64_t>(value >> 8) * 100};
}

}  // namespace glim::nodeagent
