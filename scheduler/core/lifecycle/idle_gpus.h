// Running attempts that hold GPUs which nobody uses: their users are warned, and by policy their jobs are suspended.
//
//   used --- no GPU of it was seen busy for warn_after ---> idle: noted, and its user is told (notify)
//    ^                                                        |
//    +--------------- one is seen busy: noted ----------------+--- suspend_after later ---> suspended, as by its user
//
// The policy has the times (health.idle_gpus); suspend_after 0: it is warned and no more. A job that is suspended saves
// and is held; it goes on when its user resumes it. Steps and output say nothing here: a program may report steps and
// leave its GPUs alone.
//
// Agents tell when GPUs of a task were last seen busy. Where nobody watches them (simulated GPUs, no driver), nobody is
// judged; one GPU that is busy is enough for the whole attempt. As in watchdog.h only attempts that simply run are
// judged, time in which the scheduler or a node's agent was away does not count, and a new leader counts the whole time
// once more, from its first report on.
//
// Soft state: model/watched.h, whose moments it shares with the watchdog. Pure.
#pragma once

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// A task of a watched attempt was reported.
void SeeGpus(Changes& changes, const ObservedTask& seen);
// Its moment may have come.
void JudgeGpus(Changes& changes, AttemptId attempt);

}  // namespace glim::core
