// What a policy file's `pools:`, `zones:` and `links:` do to the rows of these, as quota_import.h does it for quotas:
// where there are no such rows yet they become rows, once; afterwards the rows count. Pure.
#pragma once

#include "scheduler/policy/policy_file.h"
#include "scheduler/policy/quota_import.h"

namespace glim::server {

Result<QuotaImportPlan> PlanLayoutImport(const core::Accounts& accounts, const PolicyFile& file);

// Both imports as one event: quotas, and then the layout.
struct PolicyImportPlan {
  std::optional<core::ChangeAccounts> event;  // to apply before the policy counts; none: nothing changes
  std::vector<std::string> words;             // what each row that was imported means now
  std::vector<std::string> warnings;
};
Result<PolicyImportPlan> PlanPolicyImport(const core::Accounts& accounts, const PolicyFile& file);

}  // namespace glim::server
