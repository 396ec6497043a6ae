#include "scheduler/policy/quota_import.h"

#include <utility>

#include "scheduler/core/model/policy_accounts.h"
#include "scheduler/policy/import_commands.h"
#include "scheduler/policy/policy_quotas.h"

namespace glim::server {
namespace {

RowsByKey RowsOf(const core::Policy& policy) { return ByKey(core::QuotasOf(policy)); }

Status Changed(const core::Accounts& accounts, const core::Policy& policy) {
  RowsByKey before;
  if (const auto old = ReadPolicyText(accounts.imported, "imported"); old.ok()) before = RowsOf(old->policy);
  const std::string commands = CommandsFor(before, RowsOf(policy));
  const char* const what = accounts.imported.empty()
                               ? "quotas are rows already, and are not read from the policy any more"
                               : "they are not what was imported; quotas are rows, and are not read from here any more";
  return Status(StatusCode::kFailedPrecondition, std::string("quotas: ") + what)
      .WithReason("QUOTAS_IMPORTED")
      .WithField("quotas")
      .WithFix((commands.empty() ? "" : "change them by: " + commands + "; and then ") +
               std::string("remove 'quotas:' from the policy"));
}

}  // namespace

Result<QuotaImportPlan> PlanQuotaImport(const core::Accounts& accounts, const core::Policy& policy) {
  QuotaImportPlan plan;
  const std::string text = QuotasYaml(policy);
  if (text.empty()) return plan;
  if (text == accounts.imported) {
    plan.warning =
        "quotas: were imported before and are not read any more: glim admin quota list shows what counts; remove "
        "'quotas:' from the policy";
    return plan;
  }
  if (!accounts.imported.empty() || !accounts.quotas.empty() || !accounts.teams.empty())
    return Changed(accounts, policy);
  core::Accounts after = accounts;
  plan.event = core::ChangeAccounts{core::QuotasOf(policy), "the policy file"};
  for (const core::AccountChange& change : plan.event->changes) after.Change(change);
  plan.event->changes.emplace_back().row = core::QuotaImport{text};
  for (const auto& [name, team] : after.teams) {
    plan.words.push_back("team " + name + ": weight " + std::to_string(team.weight));
  }
  for (const auto& [group, numbers] : after.quotas) {
    plan.words.push_back(core::InWords(group) + ": " + core::MeaningOf(numbers));
  }
  return plan;
}

}  // namespace glim::server
