// glim admin job ..., glim admin kill, and the commands of `glim admin node` that take nodes out.
//
// Sources: admin_job.cc, admin_node_out.cc
#pragma once

#include "cli/commands/command.h"

namespace glim::cli {

void AddAdminJob(Syntax admin, Selection* selection);
void AddAdminKill(Syntax admin, Selection* selection);
void AddNodesOut(Syntax node, Selection* selection);  // `node`: the group

}  // namespace glim::cli
