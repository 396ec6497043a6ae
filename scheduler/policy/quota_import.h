// What a policy file's `quotas:` do to the rows of users, teams and quotas.
//
// Where there are no rows yet they become rows, once. Afterwards the rows count: the same text is accepted, with a
// warning; another one is refused with the commands that make its changes. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scheduler/core/model/event.h"
#include "scheduler/policy/policy_file.h"

namespace glim::server {

struct QuotaImportPlan {
  std::optional<core::ChangeAccounts> event;  // to apply before the policy counts; none: nothing changes
  std::vector<std::string> words;             // of an import: what each row means now
  std::string warning;                        // empty: none
};

Result<QuotaImportPlan> PlanQuotaImport(const core::Accounts& accounts, const core::Policy& policy);

}  // namespace glim::server
