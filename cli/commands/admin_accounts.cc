#include "cli/commands/admin_accounts.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/text/render_json.h"
#include "cli/text/text.h"
#include "cli/views/accounts_view.h"

namespace glim::cli {
namespace {

using glim::v1::AdminApi;
using glim::v1::ChangeAccountRequest;
using glim::v1::ListAccountsResponse;

struct AccountOptions {
  std::string name;
  std::vector<std::string> teams;
  std::uint32_t weight = 100;
  std::string subject;
  std::string priority;
  std::uint32_t nodes = 0;
  std::string pool = "*";
};
using Options = std::shared_ptr<AccountOptions>;

using TableFn = std::string (*)(const ListAccountsResponse&, bool);

Status RunList(CommandContext& context, const char* key, const char* none, TableFn table) {
  Result<ListAccountsResponse> response =
      context.client.Call(&AdminApi::Stub::ListAccounts, glim::v1::ListAccountsRequest());
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    const Json all = MessageJson(*response);
    Json document = NewDocument();
    document[key] = all.contains(key) ? all[key] : Json::array();
    context.output.Data(DumpJson(document));
    return Status::Ok();
  }
  const int rows = std::string_view(key) == "users"   ? response->users_size()
                   : std::string_view(key) == "teams" ? response->teams_size()
                                                      : response->quotas_size();
  if (rows == 0) {
    context.output.Note(none);
  } else {
    context.output.Data(table(*response, context.output.colour()));
  }
  return Status::Ok();
}

Status RunChange(CommandContext& context, const ChangeAccountRequest& request, const std::string& done) {
  const auto response = context.client.Call(&AdminApi::Stub::ChangeAccount, request);
  if (!response.ok()) return response.status();
  if (context.output.json()) {
    Json document = NewDocument();
    document["done"] = done;
    context.output.Data(DumpJson(document));
  } else {
    context.output.Note(done);
  }
  return Status::Ok();
}

enum class Verb { kAdd, kSet, kRemove };

ChangeAccountRequest RequestFor(Verb verb) {
  ChangeAccountRequest request;
  request.set_remove(verb == Verb::kRemove);
  request.set_only_new(verb == Verb::kAdd);
  return request;
}

Status ChangeUser(CommandContext& context, Verb verb, const AccountOptions& options) {
  ChangeAccountRequest request = RequestFor(verb);
  request.mutable_user()->set_name(options.name);
  for (const std::string& team : options.teams) request.mutable_user()->add_teams(team);
  const std::string teams =
      options.teams.empty() ? "in no team" : fmt::format("teams {}", fmt::join(options.teams, ", "));
  return RunChange(context, request,
                   verb == Verb::kRemove ? fmt::format("user {} is removed; quotas of theirs stay", options.name)
                                         : fmt::format("user {}: {}", options.name, teams));
}

Status ChangeTeam(CommandContext& context, Verb verb, const AccountOptions& options) {
  ChangeAccountRequest request = RequestFor(verb);
  request.mutable_team()->set_name(options.name);
  request.mutable_team()->set_weight(options.weight);
  return RunChange(context, request,
                   verb == Verb::kRemove ? fmt::format("team {} is removed", options.name)
                                         : fmt::format("team {}: weight {}", options.name, options.weight));
}

// "user:kim", "team-user:vision", "default-user".
void FillSubject(const std::string& word, glim::v1::AccountQuota* quota) {
  const std::size_t colon = word.find(':');
  std::string of = word.substr(0, colon);
  std::replace(of.begin(), of.end(), '-', '_');
  quota->set_of(of);
  if (colon != std::string::npos) quota->set_subject(word.substr(colon + 1));
}

Status ChangeQuota(CommandContext& context, Verb verb, const AccountOptions& options) {
  ChangeAccountRequest request = RequestFor(verb);
  glim::v1::AccountQuota* quota = request.mutable_quota();
  FillSubject(options.subject, quota);
  quota->set_pool(options.pool);
  quota->set_priority(options.priority);
  quota->set_nodes(options.nodes);
  const std::string where = options.pool == "*" ? "" : fmt::format(" in pool {}", options.pool);
  const std::string what = fmt::format("quota of {} at {}{}", options.subject, options.priority, where);
  return RunChange(context, request,
                   verb == Verb::kRemove
                       ? fmt::format("{} is removed", what)
                       : fmt::format("{}: {} nodes{}", what, options.nodes, options.nodes == 0 ? ", not allowed" : ""));
}

using ChangeFn = Status (*)(CommandContext&, Verb, const AccountOptions&);

Syntax AddVerb(Syntax group, Selection* selection, const Options& options, Verb verb, const char* help,
               ChangeFn change) {
  Syntax command = group.AddCommand(verb == Verb::kAdd ? "add" : verb == Verb::kSet ? "set" : "remove", help);
  command.OnChosen([=] { selection->run = [=](CommandContext& context) { return change(context, verb, *options); }; });
  return command;
}

void AddList(Syntax group, Selection* selection, const char* key, const char* none, const char* help, TableFn table) {
  group.AddCommand("list", help).OnChosen([=] {
    selection->run = [=](CommandContext& context) { return RunList(context, key, none, table); };
  });
}

void AddUsers(Syntax admin, Selection* selection, const Options& options) {
  Syntax user = admin.AddGroup("user", "Who is in which team");
  AddList(user, selection, "users", "no user is in a team", "List the users that have teams", UsersTable);
  for (const Verb verb : {Verb::kAdd, Verb::kSet}) {
    Syntax command = AddVerb(user, selection, options, verb,
                             verb == Verb::kAdd ? "Add a user" : "Add a user, or change the user's teams", ChangeUser);
    command.Option("NAME", &options->name, "the user's name", Presence::kRequired);
    command.ParsedOption("--team", "the user's teams, with commas between; the first is the default",
                         [options](const std::string& word) {
                           for (std::size_t at = 0; at <= word.size();) {
                             const std::size_t end = std::min(word.find(',', at), word.size());
                             options->teams.push_back(word.substr(at, end - at));
                             at = end + 1;
                           }
                           return std::string();
                         });
  }
  AddVerb(user, selection, options, Verb::kRemove, "Remove a user from all teams", ChangeUser)
      .Option("NAME", &options->name, "the user's name", Presence::kRequired);
}

void AddTeams(Syntax admin, Selection* selection, const Options& options) {
  Syntax team = admin.AddGroup("team", "Teams, and what they weigh");
  AddList(team, selection, "teams", "there are no teams", "List the teams", TeamsTable);
  for (const Verb verb : {Verb::kAdd, Verb::kSet}) {
    Syntax command = AddVerb(team, selection, options, verb,
                             verb == Verb::kAdd ? "Add a team" : "Add a team, or change its weight", ChangeTeam);
    command.Option("NAME", &options->name, "the team's name", Presence::kRequired);
    command.BoundedOption("--weight", &options->weight, "its share grows with it (100)", 1, 1'000'000);
  }
  AddVerb(team, selection, options, Verb::kRemove, "Remove a team that nobody is in", ChangeTeam)
      .Option("NAME", &options->name, "the team's name", Presence::kRequired);
}

void AddQuotas(Syntax admin, Selection* selection, const Options& options) {
  Syntax quota = admin.AddGroup("quota", "Who may have how many nodes of each class");
  AddList(quota, selection, "quotas", "there are no quotas: nobody is limited", "List the quotas, and what they mean",
          QuotasTable);
  for (const Verb verb : {Verb::kSet, Verb::kRemove}) {
    const bool set = verb == Verb::kSet;
    Syntax command =
        AddVerb(quota, selection, options, verb, set ? "Set a number of a quota" : "Remove a number", ChangeQuota);
    command.Option("SUBJECT", &options->subject, "user:NAME, team:NAME, team-user:NAME, default-user or everybody",
                   Presence::kRequired);
    command.Option("CLASS", &options->priority, "the class that the number is named at", Presence::kRequired);
    command.Option("--pool", &options->pool, "one pool (all pools together)");
    if (!set) continue;
    const auto take = [options](const std::string& word) {
      const char* const end = word.data() + word.size();
      const auto [rest, error] = std::from_chars(word.data(), end, options->nodes);
      const bool whole = error == std::errc() && rest == end;
      return whole ? std::string() : fmt::format("'{}' is no number of nodes: use 0 to 10000000", Shown(word));
    };
    command.ParsedOption("NODES", "at that class and all above; 0: not allowed", take, Presence::kRequired);
  }
}

}  // namespace

void AddAdminAccounts(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<AccountOptions>();
  AddUsers(admin, selection, options);
  AddTeams(admin, selection, options);
  AddQuotas(admin, selection, options);
}

}  // namespace glim::cli
