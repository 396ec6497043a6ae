// Tasks as plain processes of the agent's own user.
#pragma once

#include <memory>

#include "nodeagent/confinement/confinement.h"

namespace glim::nodeagent {

// Refuses mounts that are not where they already are, and limits: it could not keep them.
std::unique_ptr<Confinement> MakeProcessConfinement();

}  // namespace glim::nodeagent
