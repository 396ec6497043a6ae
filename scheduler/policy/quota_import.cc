#include "scheduler/policy/quota_import.h"

#include <algorithm>
#include <map>
#include <utility>

#include "scheduler/core/model/policy_accounts.h"
#include "scheduler/policy/policy_quotas.h"

namespace glim::server {
namespace {

constexpr std::size_t kCommandsNamedMax = 8;

using Rows = std::map<core::AccountKey, core::AccountChange>;

Rows RowsOf(const core::Policy& policy) {
  Rows rows;
  for (core::AccountChange& change : core::AccountsOf(policy)) rows.emplace(core::KeyOf(change.row), std::move(change));
  return rows;
}

// The commands that bring what was imported to what the file says now; as many as people read.
std::string CommandsFor(const Rows& before, const Rows& after) {
  std::vector<std::string> commands;
  for (const auto& [key, change] : after) {
    const auto old = before.find(key);
    if (old == before.end() || !(old->second == change)) commands.push_back(core::CommandFor(change));
  }
  for (const auto& [key, change] : before) {
    if (!after.contains(key)) commands.push_back(core::CommandFor({change.row, true}));
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(commands.size(), kCommandsNamedMax); ++i) {
    text += (i > 0 ? "; " : "") + commands[i];
  }
  if (commands.size() > kCommandsNamedMax) {
    text += "; and " + std::to_string(commands.size() - kCommandsNamedMax) + " more";
  }
  return text;
}

Status Changed(const core::Accounts& accounts, const core::Policy& policy) {
  Rows before;
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
  plan.event = core::ChangeAccounts{core::AccountsOf(policy), "the policy file"};
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
