#include "cli/commands/admin_accounts.h"

#include <charconv>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cli/commands/account_change.h"
#include "cli/commands/row_change.h"
#include "cli/text/text.h"
#include "cli/views/accounts_view.h"

namespace glim::cli {
namespace {

using glim::v1::AdminApi;
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

constexpr RowKind kTeamRows = glim::v1::RowChange::kTeam;
constexpr RowKind kQuotaRows = glim::v1::RowChange::kQuota;

enum class Verb { kAdd, kSet, kRemove };

ChangeAccountRequest RequestFor(Verb verb) {
  ChangeAccountRequest request;
  request.set_remove(verb == Verb::kRemove);
  request.set_only_new(verb == Verb::kAdd);
  return request;
}

// What is in force, with what was given of it changed.
Status FillTeam(CommandContext& context, Verb verb, const AccountOptions& options, glim::v1::AccountTeam* team) {
  team->set_name(options.name);
  team->set_weight(100);
  if (verb == Verb::kRemove) return Status::Ok();
  if (verb == Verb::kSet) {
    const auto known = context.client.Call(&AdminApi::Stub::ListAccounts, glim::v1::ListAccountsRequest());
    if (!known.ok()) return known.status();
    for (const auto& row : known->teams()) {
      if (row.name() == options.name) *team = row;
    }
  }
  if (options.weight) team->set_weight(static_cast<std::uint32_t>(*options.weight));
  if (options.default_pool) team->set_default_pool(*options.default_pool);
  if (!options.pools) return Status::Ok();
  team->clear_pools();
  for (const std::string& pool : WordsOf(*options.pools)) team->add_pools(pool);
  return Status::Ok();
}

Status ChangeTeam(CommandContext& context, Verb verb, const AccountOptions& options) {
  ChangeAccountRequest request = RequestFor(verb);
  glim::v1::AccountTeam* team = request.mutable_team();
  if (Status filled = FillTeam(context, verb, options, team); !filled.ok()) return filled;
  if (verb == Verb::kRemove) return RunAccountChange(context, request, fmt::format("team {} is removed", options.name));
  std::string done = fmt::format("team {}: weight {}", options.name, team->weight());
  if (team->pools_size() > 0) done += fmt::format(", pools {}", fmt::join(team->pools(), ", "));
  if (!team->default_pool().empty()) done += fmt::format(", by default {}", team->default_pool());
  return RunAccountChange(context, request, done);
}

Status ChangeQuota(CommandContext& context, Verb verb, const AccountOptions& options) {
  ChangeAccountRequest request = RequestFor(verb);
  glim::v1::AccountQuota* quota = request.mutable_quota();
  FillSubject(options.subject, quota);
  quota->set_pool(options.pool);
  quota->set_priority(options.priority);
  quota->set_nodes(options.nodes.value_or(0));
  const std::string where = options.pool == "*" ? "" : fmt::format(" in pool {}", options.pool);
  const std::string what = fmt::format("quota of {} at {}{}", options.subject, options.priority, where);
  const char* const none = quota->nodes() == 0 ? ", not allowed" : "";
  return RunAccountChange(context, request,
                          verb == Verb::kRemove ? fmt::format("{} is removed", what)
                                                : fmt::format("{}: {} nodes{}", what, quota->nodes(), none));
}

using ChangeFn = Status (*)(CommandContext&, Verb, const AccountOptions&);

Syntax AddVerb(Syntax group, Selection* selection, const Options& options, Verb verb, const char* help,
               ChangeFn change) {
  Syntax command = group.AddCommand(verb == Verb::kAdd ? "add" : "remove", help);
  command.OnChosen([=] { selection->run = [=](CommandContext& context) { return change(context, verb, *options); }; });
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
      return one ? change(context, Verb::kSet, *options) : RunSetFile(context, kind, *of_file);
    };
  });
  AddFileOptions(command, of_file);
  return command;
}

void AddTeams(Syntax admin, Selection* selection, const Options& options) {
  Syntax team = admin.AddGroup("team", "Teams, and what they weigh");
  AddAccountList(team, selection, "teams", "there are no teams", "List the teams", TeamsTable);
  AddGetAndDiff(team, selection, kTeamRows, "vision");
  for (const Verb verb : {Verb::kAdd, Verb::kSet}) {
    const bool set = verb == Verb::kSet;
    Syntax command =
        set ? AddSet(team, selection, options, kTeamRows, "Add a team, or change what is given; or all of a file",
                     ChangeTeam, "vision --weight 200")
            : AddVerb(team, selection, options, verb, "Add a team", ChangeTeam);
    command.Example(fmt::format("glim admin team {} vision --weight 200", verb == Verb::kAdd ? "add" : "set"));
    command.Option("NAME", &options->name, "the team's name", set ? Presence::kOptional : Presence::kRequired);
    command.ParsedOption("--weight", "its share grows with it (100)", [options](const std::string& word) {
      return ReadWhole(word, 1, 1'000'000, &options->weight.emplace());
    });
    command.Option("--pools", &options->pools, "the pools that its jobs may use, with commas between; '': all");
    command.Option("--default-pool", &options->default_pool, "of its jobs that name none; '': the usual one");
  }
  Syntax remove = AddVerb(team, selection, options, Verb::kRemove, "Remove a team that nobody is in", ChangeTeam);
  remove.Example("glim admin team remove vision");
  remove.Option("NAME", &options->name, "the team's name", Presence::kRequired);
}

void AddQuotas(Syntax admin, Selection* selection, const Options& options) {
  Syntax quota = admin.AddGroup("quota", "Who may have how many nodes of each class");
  AddAccountList(quota, selection, "quotas", "there are no quotas: nobody is limited",
                 "List the quotas, and what they mean", QuotasTable);
  AddGetAndDiff(quota, selection, kQuotaRows, "user:kim");
  for (const Verb verb : {Verb::kSet, Verb::kRemove}) {
    const bool set = verb == Verb::kSet;
    const Presence presence = set ? Presence::kOptional : Presence::kRequired;
    Syntax command = set ? AddSet(quota, selection, options, kQuotaRows, "Set a number of a quota; or all of a file",
                                  ChangeQuota, "user:kim high 4")
                         : AddVerb(quota, selection, options, verb, "Remove a number", ChangeQuota);
    command.Example(set ? "glim admin quota set user:kim high 16" : "glim admin quota remove user:kim high");
    command.Option("SUBJECT", &options->subject, "user:NAME, team:NAME, team-user:NAME, default-user or everybody",
                   presence);
    command.Option("CLASS", &options->priority, "the class that the number is named at", presence);
    command.Option("--pool", &options->pool, "one pool (all pools together)");
    if (!set) continue;
    const auto take = [options](const std::string& word) {
      const char* const end = word.data() + word.size();
      const auto [rest, error] = std::from_chars(word.data(), end, options->nodes.emplace());
      const bool whole = error == std::errc() && rest == end;
      return whole ? std::string() : fmt::format("'{}' is no number of nodes: use 0 to 10000000", Shown(word));
    };
    command.ParsedOption("NODES", "at that class and all above; 0: not allowed", take);
  }
}

}  // namespace

void AddAdminAccounts(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<AccountOptions>();
  AddTeams(admin, selection, options);
  AddQuotas(admin, selection, options);
}

}  // namespace glim::cli
