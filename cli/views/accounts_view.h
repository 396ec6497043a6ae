// Users, teams and quotas as tables. Pure.
#pragma once

#include <string>

#include "glim/v1/admin_api.pb.h"

namespace glim::cli {

std::string UsersTable(const glim::v1::ListAccountsResponse& accounts, bool colour);
std::string TeamsTable(const glim::v1::ListAccountsResponse& accounts, bool colour);
// What the numbers of a quota mean together stands behind its first.
std::string QuotasTable(const glim::v1::ListAccountsResponse& accounts, bool colour);

}  // namespace glim::cli
