// glim admin pool, zone and link: what there is, and the rows that operators give it.
#pragma once

#include "cli/commands/command.h"

namespace glim::cli {

void AddAdminLayout(Syntax admin, Selection* selection);

}  // namespace glim::cli
