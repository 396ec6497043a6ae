// Tasks as plain processes of the agent's own user.
#pragma once

#include <memory>
#include <string>

#include "nodeagent/confinement/confinement.h"

namespace glim::nodeagent {

// Refuses mounts that are not where they already are, and limits: it could not keep them.
// `state_dir`: the agent's, where the checkpoint folders are of jobs that name none.
// `group_readable`: these folders are their owner's group's to read.
std::unique_ptr<Confinement> MakeProcessConfinement(std::string state_dir, bool group_readable);

}  // namespace glim::nodeagent
