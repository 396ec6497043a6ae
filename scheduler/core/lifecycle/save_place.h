// What happens to the knowledge of where a job's saves lie (model/save_reach.h).
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// How many saves beside the newest a job's row knows, and how many holders of one.
inline constexpr std::size_t kOlderSavesMax = 4;
inline constexpr std::size_t kCopiesMax = 8;

// Sets whether a queued job waits for a node that has its save, or runs an orphan of it. At every queueing.
void SettleSave(Changes& changes, JobId job);
// The same for every queued job that has a save or an orphan there, or whose save may be in its memory. At every change
// of the node's state; of one that is removed, as it was. Costs what is there, however many jobs wait for other nodes.
void SettleSavesOn(Changes& changes, NodeId node);
void SettleSavesOnRemoved(Changes& changes, const Node& node);
// The same for all nodes at once.
void SettleAllSaves(Changes& changes);

// The attempt goes on from `base`: if that is not its job's newest save, the newer ones are given up, and the steps
// between are lost.
void TakeBase(Changes& changes, AttemptId attempt, const Checkpoint& base);
// The newest save is not where its job said: it goes on from the one before, and the steps between are lost.
void GiveUpSave(Changes& changes, const Attempt& ended);
// The attempt runs: nodes to which its save was copied have that save from now on.
void NoteCopies(Changes& changes, const Attempt& attempt);
// A newer save of the job is durable; the one before is kept in mind where it can be had elsewhere.
void NoteSave(Job& job, Checkpoint save);
}  // namespace glim::core
