// How the agent speaks to a shim: queued real-time signals through a pidfd. They need no channel that could be lost
// with the agent, cannot reach another process by pid reuse, and a stray `kill PID` does not look like one of them.
#pragma once

#include <signal.h>

namespace glim::nodeagent {

// Value: the signal number to send to every rank's process group.
inline int SignalRanksSignal() { return SIGRTMIN + 4; }
// SIGTERM to every process of the task.
inline int TerminateSignal() { return SIGRTMIN + 5; }
// SIGKILL to every process of the task, again and again until none is left.
inline int KillSignal() { return SIGRTMIN + 6; }

}  // namespace glim::nodeagent
