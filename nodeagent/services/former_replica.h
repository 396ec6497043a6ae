// The glim-replica of a release whose agent started one itself: today's is a unit of its own, and nobody else would end
// the old one, which holds its memory and its port (docs/operations/upgrade.md).
#pragma once

#include <string>

namespace glim::nodeagent {

// Ends the process that such an agent noted in STATE_DIR/replica, with those below it, and removes that folder. Nothing
// where there is no note; a note of another process, or of another life of the machine, ends nobody. Waits for nothing.
void EndFormerReplica(const std::string& state_dir, const std::string& boot_id);
}  // namespace glim::nodeagent
