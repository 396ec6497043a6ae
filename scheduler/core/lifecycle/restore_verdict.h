// Whose fault it is that a save could not be had, and what follows.
//
// A save in a node's own folder (Checkpoint::local) is one that the node's agent saw there: where such a node has it no
// more, the node is suspected, and the job is tried again however often. Everything else is its user's word: where a
// save lies that every node is said to see, and that a program could not read what it was given. A user's word makes no
// node suspect. Where it did not hold the node is left out for this job, while others fit.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

struct RestoreVerdict {
  std::vector<NodeId> failed_on;  // in this attempt and in those right before, of the same save; ascending
  std::vector<NodeId> suspected;  // who had the save, and has it no more; in rank order
  std::string jobs_fault;         // why the job is over; empty: it is tried again
  bool take_older = false;        // the save is not there, and the job knows one before it
};

// After so many tries on two nodes at least a job goes on from the save before the one that is not there.
inline constexpr std::uint32_t kTriesOfASave = 4;

// `failures`: in a row, this one included. More of them than restart.max and one end a job whose save is its user's
// word alone: the one more is for the second node.
RestoreVerdict JudgeRestore(const ClusterState& state, const Attempt& ended, std::uint32_t failures);

}  // namespace glim::core
