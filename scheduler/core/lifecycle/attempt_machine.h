// The life of an attempt: one dispatch of a job's whole gang.
//
//                holds all its nodes       all tasks run
//   CLAIMED ----------------------> STARTING --------> RUNNING -------+
//      |                               |                  |           | every task released
//      | preemptor ended, or a         +-------+----------+           v
//      | claimed node lost                     v                    ENDED (outcome)
//      v                                   STOPPING ------------------^
//    ENDED (claim_dropped)       (cancel, rank failed, deadline, start timeout, node failure; finished: every
//                                 rank has ended well, and what it left behind is stopped)
//
// An interrupt does not stop an attempt: it opens an agreement (agreement_machine.h), and the tasks leave by themselves
// until the deadline makes it a stop. A node is given on, task by task, only when the agent says that it is empty.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// Brings the attempt up to date with what its tasks report: running, rank failures, progress and saves, its agreement,
// releases, its end. Idempotent.
void AdvanceAttempt(Changes& changes, AttemptId attempt);

// Marks the attempt's task on that node as gone without the agent's word; the agent will be told to stop what is left.
void WriteOffTask(Changes& changes, TaskId task, const std::string& why);

}  // namespace glim::core
