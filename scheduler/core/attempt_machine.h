// The life of an attempt: one dispatch of a job's whole gang.
//
//                holds all its nodes       all tasks run
//   CLAIMED ----------------------> STARTING --------> RUNNING -------+
//      |                               |                  |           | every task released
//      | successor ended, or a         +-------+----------+           v
//      | claimed node lost                     v                    ENDED (outcome)
//      v                                   STOPPING ------------------^
//    ENDED (claim_dropped)       (cancel, rank failed, deadline, start timeout, node failure; finished: every
//                                 rank has ended well, and what it left behind is stopped)
//
// An interrupt does not stop an attempt: it opens a round (round_machine.h), and the tasks leave by themselves until
// the deadline makes it a stop. A node is given on, task by task, only when the agent says that it is empty.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/changes.h"

namespace glim::core {

std::vector<const Task*> TasksOf(const ClusterState& state, AttemptId attempt);

// All nodes are held: makes the tasks and launches them.
void BeginStart(Changes& changes, AttemptId attempt);

// Orders every task of the attempt to stop. A claimed attempt drops its claims instead.
void StopAttempt(Changes& changes, AttemptId attempt, StopCause cause, const std::string& message);

// Gives up a claimed attempt: its nodes go on, rounds without an agreed step are withdrawn, victims beyond that are
// swap_aborted. The job's state is the caller's to set.
void DropClaims(Changes& changes, AttemptId attempt, const std::string& why);

// Brings the attempt up to date with what its tasks report: running, rank failures, progress and saves, its round,
// releases, its end. Idempotent.
void AdvanceAttempt(Changes& changes, AttemptId attempt);

// Takes the node from its holder and gives it to its claimant, if there is one.
void ReleaseNode(Changes& changes, NodeId node);

// Marks the attempt's task on that node as gone without the agent's word; the agent will be told to stop what is left.
void WriteOffTask(Changes& changes, TaskId task, const std::string& why);

}  // namespace glim::core
