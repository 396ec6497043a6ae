// What brings rows that a policy file named once to what it names now, as commands for an operator. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduler/core/model/accounts.h"

namespace glim::server {

using RowsByKey = std::map<core::RowKey, core::AccountChange>;
RowsByKey ByKey(std::vector<core::AccountChange> rows);

// As many as people read: "glim admin quota set ...; ...; and 3 more". Empty: nothing has changed.
std::string CommandsFor(const RowsByKey& before, const RowsByKey& after);

}  // namespace glim::server
