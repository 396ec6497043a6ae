// Why a node is to be measured, from the moment on at which it is. Who measures it: validation.h.
//
//   join        it is new: it takes no job before it was found good, but the one that measures it
//   repair      an operator gives it back after `health` had taken it out: likewise
//   asked       an operator wants it (validation_asked.h): likewise, and whoever has it stays
//   suspicion   a job stood still there: it is left out while other nodes fit, until it was found good
//   overdue     it was last found good longer ago than policy health.validate.every; it goes on taking jobs
//
// The later ones of ValidationNeed take the place of the earlier ones.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"

namespace glim::core {

// `why`: for people. Nothing happens if the node has that need or a more urgent one.
void ToBeMeasured(Changes& changes, NodeId node, ValidationNeed need, const std::string& why);

// Of the row alone: why, since when, and what was asked for.
void EndNeed(Node& node);

// It takes jobs as it is. Nothing happens if it need not be measured.
void NotToBeMeasured(Changes& changes, NodeId node, const std::string& why);

}  // namespace glim::core
