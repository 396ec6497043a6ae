// glim admin user ls, add, set, rm and import: who there is, what they may, and who they are on the machines.
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "cli/commands/account_change.h"
#include "cli/commands/command.h"
#include "cli/commands/import_users.h"
#include "cli/commands/row_change.h"
#include "cli/text/errors.h"
#include "cli/text/render_json.h"
#include "cli/views/accounts_view.h"

namespace glim::cli {
namespace {

using glim::v1::AccountUser;
using glim::v1::AdminApi;
using glim::v1::ChangeAccountRequest;

constexpr RowKind kUserRows = glim::v1::RowChange::kUser;

struct UserOptions {
  std::string name;
  std::optional<std::string> teams, admin_of, role, groups;
  std::optional<std::int64_t> uid, gid;
  bool disable = false;
  bool enable = false;
  // Of an import.
  bool nss = false;
  std::string file;
  std::vector<std::string> names;
};
using UserOptionsPtr = std::shared_ptr<UserOptions>;

Status ReadGroups(const std::string& text, AccountUser* user) {
  user->clear_groups();
  for (const std::string& word : WordsOf(text)) {
    std::int64_t number = 0;
    if (const std::string wrong = ReadWhole(word, 0, UINT32_MAX - 1, &number); !wrong.empty()) return UsageError(wrong);
    user->add_groups(static_cast<std::uint32_t>(number));
  }
  return Status::Ok();
}

// Changes of `user` what was given.
Status Fill(const UserOptions& options, AccountUser* user) {
  user->set_name(options.name);
  if (options.disable && options.enable) return UsageError("--disable and --enable are two things");
  if (options.teams) {
    user->clear_teams();
    for (const std::string& team : WordsOf(*options.teams)) user->add_teams(team);
  }
  if (options.admin_of) {
    user->clear_admin_of();
    for (const std::string& team : WordsOf(*options.admin_of)) user->add_admin_of(team);
  }
  if (options.role) user->set_role(*options.role);
  if (options.uid) {
    user->set_has_uid(true);
    user->set_uid(static_cast<std::uint32_t>(*options.uid));
    if (!options.gid && user->gid() == 0) user->set_gid(user->uid());
  }
  if (options.gid) user->set_gid(static_cast<std::uint32_t>(*options.gid));
  if (options.disable) user->set_disabled(true);
  if (options.enable) user->set_disabled(false);
  return options.groups ? ReadGroups(*options.groups, user) : Status::Ok();
}

Result<std::vector<AccountUser>> KnownUsers(CommandContext& context) {
  const auto known = context.client.Call(&AdminApi::Stub::ListAccounts, glim::v1::ListAccountsRequest());
  if (!known.ok()) return known.status();
  return std::vector<AccountUser>(known->users().begin(), known->users().end());
}

// The row of that name; none: null.
const AccountUser* FindUser(const std::vector<AccountUser>& users, const std::string& name) {
  for (const AccountUser& user : users) {
    if (user.name() == name) return &user;
  }
  return nullptr;
}

std::string UserWords(const AccountUser& user) {
  std::string words = user.teams_size() == 0 ? "in no team" : fmt::format("teams {}", fmt::join(user.teams(), ", "));
  if (!user.role().empty() && user.role() != "user") words += ", " + user.role();
  if (user.admin_of_size() > 0) words += fmt::format(", admin of {}", fmt::join(user.admin_of(), ", "));
  if (user.has_uid()) words += fmt::format(", uid {}, gid {}", user.uid(), user.gid());
  if (user.groups_size() > 0) words += fmt::format(", groups {}", fmt::join(user.groups(), ", "));
  if (user.disabled()) words += ", disabled";
  return words;
}

// Of a user without a uid; empty: there is one.
std::string NoUidWords(const AccountUser& user) {
  if (user.has_uid()) return "";
  return fmt::format(
      "without a uid no job of theirs runs on nodes with containers: glim admin user set {} --uid N --gid N",
      user.name());
}

// Ids of the system's, which tasks have if the policy lists them, and not otherwise; empty: there are none.
std::string SystemIdWords(const AccountUser& user) {
  std::vector<std::string> ids;
  const auto add = [&ids](const char* what, std::uint32_t id) {  // root's the scheduler refuses
    if (id > 0 && id < kFirstUid) ids.push_back(fmt::format("{} {}", what, id));
  };
  if (user.has_uid()) {
    add("uid", user.uid());
    add("gid", user.gid());
  }
  for (const std::uint32_t group : user.groups()) add("group", group);
  if (ids.empty()) return "";
  return fmt::format("{} below {} {} the system's: jobs of {} are refused unless the policy lists {} (task_users)",
                     fmt::join(ids, ", "), kFirstUid, ids.size() == 1 ? "is" : "are", user.name(),
                     ids.size() == 1 ? "it" : "them");
}

std::string WarningsOf(const AccountUser& user) {
  const std::string no_uid = NoUidWords(user), system = SystemIdWords(user);
  return no_uid + (no_uid.empty() || system.empty() ? "" : "; ") + system;
}

Status RunAddUser(CommandContext& context, const UserOptions& options) {
  ChangeAccountRequest request;
  request.set_only_new(true);
  AccountUser* const user = request.mutable_user();
  if (Status filled = Fill(options, user); !filled.ok()) return filled;
  const std::string warnings = WarningsOf(*user);
  return RunAccountChange(
      context, request,
      fmt::format("user {}: {}{}{}", options.name, UserWords(*user), warnings.empty() ? "" : "; ", warnings));
}

Status RunSetUser(CommandContext& context, const UserOptions& options, const ChangeOptions& change) {
  glim::v1::RowChange fresh;
  fresh.mutable_user()->set_name(options.name);
  auto row = RowToChange(context, fresh);
  if (!row.ok()) return row.status();
  if (Status filled = Fill(options, row->mutable_user()); !filled.ok()) return filled;
  return ChangeRow(context, *row, change, WarningsOf(row->user()));
}

Status RunRemoveUser(CommandContext& context, const UserOptions& options, const ChangeOptions& change) {
  glim::v1::RowChange row;
  row.mutable_user()->set_name(options.name);
  row.set_remove(true);
  return ChangeRow(context, row, change, "their tokens count no more; quotas of theirs stay");
}

Status RunImport(CommandContext& context, const UserOptions& options) {
  if (options.nss == !options.file.empty()) {
    return UsageError("say where from: --nss or --file", "'glim admin user import --nss kim lee'");
  }
  const Result<std::vector<ImportedUser>> found =
      options.nss ? UsersOfMachine(options.names) : UsersOfFile(options.file);
  if (!found.ok()) return found.status();
  const Result<std::vector<AccountUser>> known = KnownUsers(context);
  if (!known.ok()) return known.status();
  std::size_t added = 0, without_uid = 0, groups_left_out = 0;
  for (const ImportedUser& user : *found) {
    ChangeAccountRequest request;
    const AccountUser* row = FindUser(*known, user.row.name());
    added += row == nullptr ? 1 : 0;
    *request.mutable_user() = user.Over(row);
    without_uid += request.user().has_uid() ? 0 : 1;
    const auto& kept = request.user().groups();
    for (const std::uint32_t group : user.system_groups) {
      groups_left_out += std::find(kept.begin(), kept.end(), group) == kept.end() ? 1 : 0;
    }
    const auto changed = context.client.Call(&AdminApi::Stub::ChangeAccount, request);
    if (!changed.ok()) return changed.status();
  }
  if (context.output.json()) {
    Json document = NewDocument();
    document["users"] = found->size();
    document["new"] = added;
    document["without_uid"] = without_uid;
    document["groups_left_out"] = groups_left_out;
    context.output.Data(DumpJson(document));
  } else {
    context.output.Note(fmt::format("{} users, {} of them new", found->size(), added));
    if (without_uid > 0) {
      context.output.Note(fmt::format(
          "{} of them without a uid: no job of theirs runs on nodes with containers until they have one", without_uid));
    }
    if (groups_left_out > 0) {
      context.output.Note(fmt::format(
          "{} memberships of the system's groups (below {}) left out: tasks have those alone that the policy's "
          "task_users.allow_gids lists; then give them with: glim admin user set NAME --group N,...",
          groups_left_out, kFirstUid));
    }
  }
  return Status::Ok();
}

std::string CheckRole(const std::string& word) {
  const bool known = word == "viewer" || word == "user" || word == "operator" || word == "admin";
  return known ? "" : fmt::format("'{}' is no role: use viewer, user, operator or admin", word);
}

void AddUserOptions(Syntax command, const UserOptionsPtr& options) {
  const auto number = [options](std::optional<std::int64_t> UserOptions::*target) {
    return [options, target](const std::string& word) {
      return ReadWhole(word, 0, UINT32_MAX - 1, &((*options).*target).emplace());
    };
  };
  command.Option("--team", &options->teams, "the user's teams, with commas between; the first is the default");
  command.ParsedOption("--role", "viewer, user, operator or admin (user)", [options](const std::string& word) {
    options->role = word;
    return CheckRole(word);
  });
  command.Option("--admin-of", &options->admin_of, "teams, among the user's, whose admin the user is");
  command.ParsedOption("--uid", "who the user is on the machines", number(&UserOptions::uid));
  command.ParsedOption("--gid", "the first group (the uid)", number(&UserOptions::gid));
  command.Option("--group", &options->groups, "numbers of the other groups, with commas between");
  command.Flag("--disable", &options->disable, "no token of the user's counts, and no job of theirs starts");
  command.Flag("--enable", &options->enable, "undoes --disable");
}

}  // namespace

void AddAdminUsers(Syntax admin, Selection* selection) {
  const auto options = std::make_shared<UserOptions>();
  const auto of_file = std::make_shared<RowOptions>();
  Syntax user = admin.AddGroup("user", "Who there is, in which teams, with which rights");
  AddAccountList(user, selection, "users", "no user is registered", "List the users", UsersTable);
  AddGetAndDiff(user, selection, kUserRows, "kim");
  Syntax add = user.AddCommand("add", "Add a user");
  add.Example("glim admin user add kim --team vision --uid 1001 --gid 1001");
  add.Option("NAME", &options->name, "the user's name", Presence::kRequired);
  add.OnChosen([=] { selection->run = [=](CommandContext& context) { return RunAddUser(context, *options); }; });
  AddUserOptions(add, options);

  Syntax set = user.AddCommand("set", "Add a user, or change what is given; or all of a file");
  set.Example("glim admin user set kim --role operator");
  set.Option("NAME", &options->name, "the user's name");
  set.OnChosen([=] {
    selection->run = [=](CommandContext& context) {
      const bool one = !options->name.empty();
      if (Status clear = CheckOneOrFile(kUserRows, one, false, *of_file, "kim --team vision"); !clear.ok()) {
        return clear;
      }
      return one ? RunSetUser(context, *options, of_file->change) : RunSetFile(context, kUserRows, *of_file);
    };
  });
  AddUserOptions(set, options);
  AddFileOptions(set, of_file);

  Syntax remove = user.AddCommand("rm", "Remove a user: their tokens count no more");
  remove.Alias("remove");
  remove.Example("glim admin user rm kim");
  remove.Option("NAME", &options->name, "the user's name", Presence::kRequired);
  remove.OnChosen([=] {
    selection->run = [=](CommandContext& context) { return RunRemoveUser(context, *options, of_file->change); };
  });
  AddAskOptions(remove, &of_file->change);

  Syntax importer = user.AddCommand("import", "Add users from this machine's user database or from a file");
  importer.Example("glim admin user import --nss");
  importer.Flag("--nss", &options->nss, "who getpwnam knows here: those named, or all with a uid from 1000 on");
  importer.Option("--file", &options->file, "YAML: users: {kim: {teams: [vision], uid: 1001}}", Presence::kOptional);
  const auto take = [options](const std::string& word) {
    options->names.push_back(word);
    return std::string();
  };
  importer.ParsedOptions("NAME", "with --nss: these alone, system accounts too", take, Presence::kOptional);
  importer.OnChosen(
      [=] { selection->run = [options](CommandContext& context) { return RunImport(context, *options); }; });
}

}  // namespace glim::cli
