// Budgets of teams as lines for people. Pure.
#pragma once

#include <string>

#include "glim/v1/admin_api.pb.h"

namespace glim::cli {

// As it was, and as it will be.
std::string BudgetChangeText(const glim::v1::SetBudgetResponse& answer);
std::string BudgetTable(const glim::v1::ListBudgetsResponse& list, bool colour);

}  // namespace glim::cli
