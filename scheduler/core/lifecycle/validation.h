// Nodes are measured by themselves: a job of the cluster's own runs glim-validate on one that needs it
// (validation_need.h), and what it finds decides about the node.
//
//   needs it --sound, free, behind a pass that starts nobody--> MEASURED --succeeded--> good: it takes jobs
//      ^                                                            |   \--exit code 3--> cordoned by `health`
//      +--- interrupted, or could not measure: a pause -------------+
//
// The job (Job::validates) is the system user's (kClusterUser), of class low, outside of quotas and shares, and never
// waits: it begins where it is made, and whoever is more urgent interrupts it at once. It has one attempt; another job
// takes its place later. Of nodes that go on taking jobs few are measured at a time.
//
// All of it is level-triggered by rows that are stored: a new leader goes on where the last one was.
#pragma once

#include <cstddef>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// After a try that could not measure the node: where it waits for that, where it takes jobs meanwhile; after an
// interrupt.
inline constexpr Duration kMeasureAgainWaiting = Minutes(5);
inline constexpr Duration kMeasureAgain = Hours(1);
inline constexpr Duration kMeasureAgainInterrupted = Minutes(10);

// How many nodes of so many are measured at once: of those that take jobs, and of those that take none before that.
std::size_t MeasuredAtOnce(std::size_t nodes, bool waiting);

// What jobs that have ended found. After every event.
void SettleValidations(Changes& changes);

// Nodes that may be measured now. After a pass that gave no node away: whoever waits does not fit there.
void BeginValidations(Changes& changes);

// Who is overdue, and whose pause is over. Part of ApplyTimePassed.
void JudgeValidations(Changes& changes);
// 0: never.
TimePoint NextValidation(const ClusterState& state, const Policy& policy);

// The policy may be another one: what it asks for no more is not waited for.
void ReviewValidations(Changes& changes);

}  // namespace glim::core
