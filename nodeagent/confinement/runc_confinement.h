// Tasks in containers, under runc or a runtime with its command line, such as crun.
#pragma once

#include <memory>

#include "nodeagent/confinement/confinement.h"
#include "nodeagent/confinement/runc_options.h"

namespace glim::nodeagent {

// A container for each task, whose processes are LaunchSpec.user, with the node's own /usr, /etc and /opt, read-only,
// as its system ("image: host"). It sees its workdir, its checkpoint folder and its mounts, which must lie in
// `mount_allow`, a /tmp of its own, and nothing else of the node.
std::unique_ptr<Confinement> MakeRuncConfinement(RuncOptions options);

}  // namespace glim::nodeagent
