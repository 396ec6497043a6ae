#include "scheduler/policy/layout_import.h"

#include <utility>

#include "scheduler/core/model/policy_accounts.h"
#include "scheduler/policy/import_commands.h"
#include "scheduler/policy/policy_links.h"

namespace glim::server {
namespace {

// The first of the three that the file has: what a refusal is about.
std::string FieldOf(const PolicyFile& file) {
  if (!file.names.pools.empty()) return "pools";
  return file.names.zones.empty() ? "links" : "zones";
}

std::string TextOf(const PolicyFile& file) { return NamesYaml(file.names) + LinksYaml(file.policy); }

std::vector<core::AccountChange> RowsOf(const PolicyFile& file) {
  std::vector<core::AccountChange> rows;
  for (const std::string& pool : file.names.pools) rows.push_back({core::PoolRow{pool}});
  for (const std::string& zone : file.names.zones) rows.push_back({core::ZoneRow{zone}});
  for (core::AccountChange& link : core::LinksOf(file.policy)) rows.push_back(std::move(link));
  return rows;
}

Status Changed(const core::Accounts& accounts, const PolicyFile& file) {
  RowsByKey before;
  if (const auto old = ReadPolicyText(accounts.layout_imported, "imported"); old.ok()) before = ByKey(RowsOf(*old));
  const std::string commands = CommandsFor(before, ByKey(RowsOf(file)));
  const std::string field = FieldOf(file);
  const char* const what =
      accounts.layout_imported.empty()
          ? "pools, zones and links are rows already, and are not read from the policy any more"
          : "pools, zones and links are not what was imported; they are rows, and are not read from here any more";
  return Status(StatusCode::kFailedPrecondition, field + ": " + what)
      .WithReason("LAYOUT_IMPORTED")
      .WithField(field)
      .WithFix((commands.empty() ? "" : "change them by: " + commands + "; and then ") +
               std::string("remove 'pools:', 'zones:' and 'links:' from the policy"));
}

std::string Amounts(const core::ZoneLink& link) {
  return "jobs_max " + std::to_string(link.jobs_max) + ", pairs_max " + std::to_string(link.pairs_max);
}

}  // namespace

Result<QuotaImportPlan> PlanLayoutImport(const core::Accounts& accounts, const PolicyFile& file) {
  QuotaImportPlan plan;
  const std::string text = TextOf(file);
  if (text.empty()) return plan;
  if (text == accounts.layout_imported) {
    plan.warning = FieldOf(file) +
                   ": pools, zones and links were imported before and are not read any more: glim admin pool ls, "
                   "glim admin zone ls and glim admin link ls show what counts; remove 'pools:', 'zones:' and "
                   "'links:' from the policy";
    return plan;
  }
  const bool any = !accounts.pools.empty() || !accounts.zones.empty() || !accounts.links.empty();
  if (!accounts.layout_imported.empty() || any) return Changed(accounts, file);
  plan.event = core::ChangeAccounts{RowsOf(file), "the policy file"};
  plan.event->changes.emplace_back().row = core::LayoutImport{text};
  for (const std::string& pool : file.names.pools) plan.words.push_back("pool " + pool + ": known");
  for (const std::string& zone : file.names.zones) plan.words.push_back("zone " + zone + ": known");
  for (const core::ZoneLink& link : file.policy.links) {
    plan.words.push_back("link " + link.zone_a + "-" + link.zone_b + ": " + Amounts(link));
  }
  return plan;
}

Result<PolicyImportPlan> PlanPolicyImport(const core::Accounts& accounts, const PolicyFile& file) {
  PolicyImportPlan plan;
  auto quotas = PlanQuotaImport(accounts, file.policy);
  if (!quotas.ok()) return quotas.status();
  auto layout = PlanLayoutImport(accounts, file);
  if (!layout.ok()) return layout.status();
  plan.event = std::move(quotas->event);
  for (QuotaImportPlan* part : {&*quotas, &*layout}) {
    plan.words.insert(plan.words.end(), part->words.begin(), part->words.end());
    if (!part->warning.empty()) plan.warnings.push_back(std::move(part->warning));
  }
  if (!layout->event) return plan;
  if (!plan.event) {
    plan.event = std::move(layout->event);
  } else {
    for (core::AccountChange& change : layout->event->changes) plan.event->changes.push_back(std::move(change));
  }
  return plan;
}

}  // namespace glim::server
