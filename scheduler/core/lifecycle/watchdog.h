// The watchdog: running attempts that give no sign of life (no step, no save, nothing else that a rank says, no output)
// are noticed, their tasks are asked what they do, and where the job wants that, it goes on elsewhere.
//
//   runs --- no sign for the threshold ---> stands still: noted, evidence is asked for ---+
//    ^                                            |                                       | all have answered, or
//    +-------------- a sign: noted ---------------+                                       | kEvidenceWait has passed
//                                     hang in restart.on: stopped (StopCause::kHang), its nodes suspect <---+--> kept
//
// The threshold is the job's watchdog.no_progress; without it, health.no_progress_min of the policy or no_progress_gaps
// times the longest time that this job was without a sign before, whichever is longer. So an evaluation of an hour is
// no alarm from the second time on, and a new leader knows it, for the job's row keeps it.
//
// No false alarm: only attempts that simply run are judged, by a leader that has itself heard all their nodes. Time in
// which the scheduler or a node's agent was away does not count; a new leader counts from its first report on, and what
// stood still before it is not restarted until it has stood still for the threshold once more. An attempt that reported
// no step is restarted only if its spec says watchdog.no_progress: its output alone may be silent for long.
//
// What goes on from a save may be silent until it has got it: for no_progress_min, or for five times as long as its
// job's last restore took, whichever is longer. Then it is judged like all others.
//
// There is no tick: each attempt has the moment when it must be looked at, and a sign does not move that moment.
// Soft state: model/watched.h. Pure.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// A task of a running attempt was reported. `changed`: its row has, so that a rank has said something.
void SeeSigns(Changes& changes, const ObservedTask& seen, bool changed);
// A node was not heard for that long before now: whoever runs there is not held responsible for that time.
void NodeWasAway(Changes& changes, NodeId node, Duration away);
// Nor for the time for which this leader slept.
void SchedulerWasAway(Changes& changes);
// The attempt has ended.
void ForgetSigns(Changes& changes, AttemptId attempt);

// Part of ApplyTimePassed.
void JudgeStalls(Changes& changes);
// When somebody is to be looked at next; 0: nobody.
TimePoint NextStall(const ClusterState& state);

// How long the job may be without a sign of life, if this was its longest time without one.
Duration NoProgressLimit(const Policy& policy, const Job& job, Duration longest_gap);
// Whether its tasks are to say what they do: it stands still, and they have not said it yet.
bool AsksForEvidence(const Attempt& attempt);

}  // namespace glim::core
