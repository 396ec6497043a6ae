// glim admin team, glim admin quota: what teams weigh and where their jobs run, and who may have how many nodes of each
// class.
#pragma once

#include "cli/commands/command.h"

namespace glim::cli {

void AddAdminAccounts(Syntax admin, Selection* selection);

}  // namespace glim::cli
