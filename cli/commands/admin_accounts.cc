#include "cli/commands/admin_accounts.h"

#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands/account_change.h"
#include "cli/commands/row_change.h"
#include "cli/text/errors.h"
#include "cli/text/text.h"
#include "cli/views/accounts_view.h"

namespace glim::cli {
namespace {

using glim::v1::ChangeAccountRequest;

struct AccountOptions {
  std::string name;
  std::optional<std::int64_t> weight;
  std::optional<std::string> pools;
  std::optional<std::string> default_pool;
  std::string subject;
  std::string priority;
  std::optional<std::uint32_t> nodes;
  std::string pool = "*";
};
using Options = std::shared_ptr<AccountOptions>;

constexpr std::uint32_t kWeightDefault = 100;
constexpr std::int64_t kWeightMax = 1'000'000;
constexpr std::int64_t kNodesMax = 10'000'000;

constexpr RowKind kTeamRows = glim::v1::RowChange::kTeam;
constexpr RowKind kQuotaRows = glim::v1::RowChange::kQuota;

// Changes of the team what was given.
void FillTeam(const AccountOptions& options, glim::v1::AccountTeam* team) {
  if (options.weight) team->set_weight(static_cast<std::uint32_t>(*options.weight));
  if (options.default_pool) team->set_default_pool(*options.default_pool);
  if (!options.pools) return;
  team->clear_pools();
  for (const std::string& pool : WordsOf(*options.pools)) team->add_pools(pool);
}

glim::v1::RowChange FreshTeam(const AccountOptions& options) {
  glim::v1::RowChange row;
  row.mutable_team()->set_name(options.name);
  row.mutable_team()->set_weight(kWeightDefault);
  return row;
}

Status RunAddTeam(CommandContext& context, const AccountOptions& options) {
  ChangeAccountRequest request;
  request.set_only_new(true);
  glim::v1::AccountTeam* const team = request.mutable_team();
  *team = FreshTeam(options).team();
  FillTeam(options, team);
  std::string done = fmt::format("team {}: weight {}", options.name, team->weight());
  if (team->pools_size() > 0) done += fmt::format(", pools {}", fmt::join(team->pools(), ", "));
  if (!team->default_pool().empty()) done += fmt::format(", by default {}", team->default_pool());
  return RunAccountChange(context, request, done);
}

Status RunSetTeam(CommandContext& context, const AccountOptions& options, const ChangeOptions& change) {
  auto row = RowToChange(context, FreshTeam(options));
  if (!row.ok()) return row.status();
  FillTeam(options, row->mutable_team());
  return ChangeRow(context, *row, change);
}

Result<glim::v1::RowChange> QuotaOf(const AccountOptions& options) {
  const auto priority = ClassName(options.priority);
  if (!priority.ok()) return UsageError(priority.status().message(), priority.status().fix());
  glim::v1::RowChange row;
  FillSubject(options.subject, row.mutable_quota());
  row.mutable_quota()->set_pool(options.pool);
  row.mutable_quota()->set_priority(*priority);
  row.mutable_quota()->set_nodes(options.nodes.value_or(0));
  return row;
}

Status RunSetQuota(CommandContext& context, const AccountOptions& options, const ChangeOptions& change) {
  const auto row = QuotaOf(options);
  if (!row.ok()) return row.status();
  return ChangeRow(context, *row, change, row->quota().nodes() == 0 ? "0 nodes: not allowed" : "");
}

Status RunRemove(CommandContext& context, RowKind kind, const AccountOptions& options, const ChangeOptions& change) {
  auto row = kind == kTeamRows ? Result<glim::v1::RowChange>(FreshTeam(options)) : QuotaOf(options);
  if (!row.ok()) return row.status();
  row->set_remove(true);
  return ChangeRow(context, *row, change);
}

using ChangeFn = Status (*)(CommandContext&, const AccountOptions&, const ChangeOptions&);

Syntax AddRemove(Syntax group, Selection* selection, const Options& options, RowKind kind, const char* help) {
  const auto change = std::make_shared<ChangeOptions>();
  Syntax command = group.AddCommand("rm", help);
  command.Alias("remove");
  command.OnChosen(
      [=] { selection->run = [=](CommandContext& context) { return RunRemove(context, kind, *options, *change); }; });
  AddAskOptions(command, change.get());
  return command;
}

// Of one row, whose words are all there, or of a file.
Syntax AddSet(Syntax group, Selection* selection, const Options& options, RowKind kind, const char* help,
              ChangeFn change, const char* words) {
  const auto of_file = std::make_shared<RowOptions>();
  Syntax command = group.AddCommand("set", help);
  command.OnChosen([=] {
    selection->run = [=](CommandContext& context) {
      const bool one = kind == kTeamRows ? !options->name.empty() : options->nodes.has_value();
      const bool part = !one && !options->subject.empty();
      if (Status clear = CheckOneOrFile(kind, one, part, *of_file, words); !clear.ok()) return clear;
      return one ? change(context, *options, of_file->change) : RunSetFile(context, kind, *of_file);
    };
  });
  AddFileOptions(command, of_file);
  return command;
}

void AddTeamOptions(Syntax command, const Options& options, Presence name) {
  command.Option("NAME", &options->name, "the team's name", name);
  command.ParsedOption("--weight", "its share grows with it (100)", [options](const std::string& word) {
    return ReadWhole(word, 1, kWeightMax, &options->weight.emplace());
  });
  command.Option("--pools", &options->pools, "the pools that its jobs may use, with commas between; '': all");
  command.Option("--default-pool", &options->default_pool, "of its jobs that name none; '': the usual one");
}

void AddTeams(Syntax admin, Selection* selection, const Options& options) {
  Syntax team = admin.AddGroup("team", "Teams, and what they weigh");
  AddAccountList(team, selection, "teams", "there are no teams", "List the teams", TeamsTable);
  AddGetAndDiff(team, selection, kTeamRows, "vision");
  Syntax add = team.AddCommand("add", "Add a team");
  add.OnChosen([=] { selection->run = [=](CommandContext& context) { return RunAddTeam(context, *options); }; });
  add.Example("glim admin team add vision --weight 200");
  AddTeamOptions(add, options, Presence::kRequired);
  Syntax set = AddSet(team, selection, options, kTeamRows, "Add a team, or change what is given; or all of a file",
                      RunSetTeam, "vision --weight 200");
  set.Example("glim admin team set vision --weight 200");
  AddTeamOptions(set, options, Presence::kOptional);
  Syntax remove = AddRemove(team, selection, options, kTeamRows, "Remove a team that nobody is in");
  remove.Example("glim admin team rm vision");
  remove.Option("NAME", &options->name, "the team's name", Presence::kRequired);
}

void AddQuotaWords(Syntax command, const Options& options, Presence presence) {
  command.Option("SUBJECT", &options->subject, "user:NAME, team:NAME, team-user:NAME, default-user or everybody",
                 presence);
  command.Option("CLASS", &options->priority, "the class that the number is named at, by name or number", presence);
  command.Option("--pool", &options->pool, "one pool (all pools together)");
}

void AddQuotas(Syntax admin, Selection* selection, const Options& options) {
  Syntax quota = admin.AddGroup("quota", "Who may have how many nodes of each class");
  AddAccountList(quota, selection, "quotas", "there are no quotas: nobody is limited",
                 "List the quotas, and what they mean", QuotasTable);
  AddGetAndDiff(quota, selection, kQuotaRows, "user:kim");
  Syntax set = AddSet(quota, selection, options, kQuotaRows, "Set a number of a quota; or all of a file", RunSetQuota,
                      "user:kim high 4");
  set.Example("glim admin quota set user:kim high 16");
  AddQuotaWords(set, options, Presence::kOptional);
  set.ParsedOption("NODES", "at that class and all above; 0: not allowed", [options](const std::string& word) {
    std::int64_t nodes = 0;
    if (!ReadWhole(word, 0, kNodesMax, &nodes).empty()) {
      return fmt::format("'{}' is no number of nodes: use 0 to {}", Shown(word), kNodesMax);
    }
    options->nodes = static_cast<std::uint32_t>(nodes);
    return std::string();
  });
  Syntax remove = AddRemove(quota, selection, options, kQuotaRows, "Remove a number");
  remove.Example("glim admin quota rm user:kim high");
  AddQuotaWords(remove, options, Presence::kRequired);
}

}  // namespace

void AddAdminAccounts(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<AccountOptions>();
  AddTeams(admin, selection, options);
  AddQuotas(admin, selection, options);
}

}  // namespace glim::cli
