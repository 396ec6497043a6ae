// glim admin user, glim admin team, glim admin quota: who is in which team, what teams weigh, and who may have how many
// nodes of each class.
#pragma once

#include "cli/commands/command.h"

namespace glim::cli {

void AddAdminAccounts(Syntax admin, Selection* selection);

}  // namespace glim::cli
