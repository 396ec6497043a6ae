// What an attempt's ranks say of their work: steps, restores, durable saves.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// The newest save of which every shard's owner has reported its shard; none if there is no such save.
std::optional<Checkpoint> NewestDurable(const std::vector<const Task*>& tasks);

// Takes in what all the ranks say. Looks for a newer durable save only where there may be one: that is a look at every
// shard of every rank.
void SeeProgress(Changes& changes, AttemptId attempt, const std::vector<const Task*>& tasks,
                 bool may_be_durable = true);

// A gang of thousands of ranks reports every second. What follows costs what one task has, not what the gang has.

// As SeeProgress; whether a save may be complete is told by the shards that were noted.
void AdvanceProgress(Changes& changes, AttemptId attempt, const std::vector<const Task*>& tasks);
// Notes the shards that a task has reported.
void NoteShards(Changes& changes, const Task& task);
// The attempt is over: nobody asks its ranks for their saves any more, whose paths may be long.
void ForgetShards(Changes& changes, AttemptId attempt);
// One of the attempt's tasks has other steps, and nothing else has changed.
void SeeSteps(Changes& changes, const Task& task);

}  // namespace glim::core
