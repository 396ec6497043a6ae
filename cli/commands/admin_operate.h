// glim admin job ..., glim admin kill, glim admin sched ..., and the commands of `glim admin node` that take nodes out.
//
// Sources: admin_budget.cc, admin_job.cc, admin_node_out.cc, admin_node_validate.cc, admin_reserve.cc, admin_sched.cc
#pragma once

#include "cli/commands/command.h"

namespace glim::cli {

void AddAdminBudget(Syntax admin, Selection* selection);
void AddAdminJob(Syntax admin, Selection* selection);
void AddAdminKill(Syntax admin, Selection* selection);
void AddAdminReserve(Syntax admin, Selection* selection);
void AddNodesOut(Syntax node, Selection* selection);      // `node`: the group
void AddNodeValidate(Syntax node, Selection* selection);  // `node`: the group
void AddAdminSched(Syntax admin, Selection* selection);

}  // namespace glim::cli
