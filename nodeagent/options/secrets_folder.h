// Where the secrets of this node's tasks lie: in memory, and gone with the machine's power. Any thread.
#pragma once

#include <string>

namespace glim::nodeagent {

// A folder of this agent's own (each state folder has another one) below the first of these that is a tmpfs: a user's
// XDG_RUNTIME_DIR, root's /run, /dev/shm. It is not made here. Empty: there is none, and no job with secrets starts.
std::string SecretsFolder(const std::string& state_dir);

}  // namespace glim::nodeagent
