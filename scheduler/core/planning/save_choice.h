// 3a. Wait for the save. A 1-node job whose save is dear to copy waits for the node that has it, if that node is to be
// had sooner than a copy would be there.
#pragma once

#include <optional>

#include "scheduler/core/planning/pass.h"

namespace glim::core {

struct SaveWait {
  TimePoint until;  // when the node can be had
  Blocker blocker;
};

// Nothing: the job may be placed wherever `field` says. Where its save's node can be had now, though by an interrupt,
// and a copy would take longer than starting a job is worth (Policy::switch_cost), that node alone is left in `field`.
// Reads nothing of the job but what its shape has, and since when it waits.
std::optional<SaveWait> WaitForSave(const Pass& pass, const Asker& asker, Field* field);

}  // namespace glim::core
