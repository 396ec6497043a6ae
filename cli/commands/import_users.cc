#include "cli/commands/import_users.h"

#include <algorithm>

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include "cli/text/file.h"
#include "cli/text/text.h"
#include "sdk/yaml/fields.h"

namespace glim::cli {
namespace {

using glim::v1::AccountUser;

constexpr unsigned kNobody = 65534;
constexpr std::size_t kUsersFileMax = 4 << 20;
constexpr int kGroupsMax = 1 << 16;

Status NotOfThisMachine(const std::string& name, const std::string& why) {
  return Status(StatusCode::kInvalidArgument, fmt::format("'{}' {}", Shown(name), why))
      .WithReason("NO_SUCH_ACCOUNT")
      .WithField("NAME")
      .WithFix("'getent passwd' lists the accounts of this machine");
}

ImportedUser UserOf(const passwd& entry) {
  ImportedUser user;
  user.row.set_name(entry.pw_name);
  user.row.set_has_uid(true);
  user.row.set_uid(entry.pw_uid);
  user.row.set_gid(entry.pw_gid);
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0 && count < kGroupsMax) {
    count = std::max(count, static_cast<int>(groups.size()) * 2);
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(std::max(0, count)));
  std::sort(groups.begin(), groups.end());
  for (const gid_t group : groups) {
    if (group == entry.pw_gid) continue;
    if (group < kFirstUid) {
      user.system_groups.push_back(group);
    } else {
      user.row.add_groups(group);
    }
  }
  user.has_groups = true;
  return user;
}

yaml::Field IntoWords(std::vector<std::string>* out) {
  return [out](const yaml::Node& value, const std::string& path) -> Status {
    if (!value.IsSequence()) return yaml::RefuseAt(value, path, "must be a list", "write it like [vision, speech]");
    for (const yaml::NodePtr& item : value.items) {
      if (Status taken = yaml::IntoName(&out->emplace_back())(*item, path); !taken.ok()) return taken;
    }
    return Status::Ok();
  };
}

yaml::Field IntoNumbers(AccountUser* row) {
  return [row](const yaml::Node& value, const std::string& path) -> Status {
    if (!value.IsSequence()) return yaml::RefuseAt(value, path, "must be a list", "write it like [1001, 1002]");
    for (const yaml::NodePtr& item : value.items) {
      const Result<std::int64_t> number = yaml::ReadNumber(*item, path, 0, UINT32_MAX - 1);
      if (!number.ok()) return number.status();
      row->add_groups(static_cast<std::uint32_t>(*number));
    }
    return Status::Ok();
  };
}

Status ReadUser(const yaml::Entry& entry, const std::string& path, ImportedUser* user) {
  std::vector<std::string> teams, admin_of;
  std::string role;
  bool disabled = false;
  std::int64_t uid = -1, gid = -1;
  const yaml::Fields fields = {{"teams", IntoWords(&teams)},
                               {"admin_of", IntoWords(&admin_of)},
                               {"role", yaml::IntoName(&role)},
                               {"uid", yaml::IntoNumber(&uid, 0, UINT32_MAX - 1)},
                               {"gid", yaml::IntoNumber(&gid, 0, UINT32_MAX - 1)},
                               {"groups", IntoNumbers(&user->row)},
                               {"disabled", yaml::IntoBool(&disabled)}};
  if (Status read = yaml::ReadMap(*entry.value, path, fields); !read.ok()) return read;
  const auto given = [&entry](const char* key) { return entry.value->Find(key) != nullptr; };
  user->has_teams = given("teams");
  user->has_admin_of = given("admin_of");
  user->has_role = given("role");
  user->has_groups = given("groups");
  user->has_disabled = given("disabled");
  AccountUser& row = user->row;
  row.set_name(entry.key);
  row.set_role(role);
  row.set_disabled(disabled);
  for (const std::string& team : teams) row.add_teams(team);
  for (const std::string& team : admin_of) row.add_admin_of(team);
  row.set_has_uid(uid >= 0);
  if (uid >= 0) row.set_uid(static_cast<std::uint32_t>(uid));
  if (uid >= 0) row.set_gid(static_cast<std::uint32_t>(gid >= 0 ? gid : uid));
  return Status::Ok();
}

}  // namespace

AccountUser ImportedUser::Over(const AccountUser* known) const {
  if (known == nullptr) return row;
  AccountUser merged = *known;
  if (has_teams) *merged.mutable_teams() = row.teams();
  if (has_admin_of) *merged.mutable_admin_of() = row.admin_of();
  if (has_role) merged.set_role(row.role());
  if (has_groups) {
    *merged.mutable_groups() = row.groups();
    for (const std::uint32_t group : known->groups()) {
      if (std::find(system_groups.begin(), system_groups.end(), group) != system_groups.end()) merged.add_groups(group);
    }
  }
  if (has_disabled) merged.set_disabled(row.disabled());
  if (row.has_uid()) {
    merged.set_has_uid(true);
    merged.set_uid(row.uid());
    merged.set_gid(row.gid());
  }
  return merged;
}

Result<std::vector<ImportedUser>> UsersOfMachine(const std::vector<std::string>& names) {
  std::vector<ImportedUser> users;
  for (const std::string& name : names) {
    const passwd* const entry = ::getpwnam(name.c_str());
    if (entry == nullptr) return NotOfThisMachine(name, "is no account of this machine");
    if (entry->pw_uid == 0) return NotOfThisMachine(name, "is root, whose name no job runs in");
    users.push_back(UserOf(*entry));
  }
  if (!names.empty()) return users;
  std::vector<std::string> all;
  ::setpwent();
  while (const passwd* const entry = ::getpwent()) {
    if (entry->pw_uid >= kFirstUid && entry->pw_uid != kNobody) all.emplace_back(entry->pw_name);
  }
  ::endpwent();
  if (all.empty()) {
    return Status(StatusCode::kNotFound, fmt::format("no account of this machine has a uid from {} on", kFirstUid))
        .WithReason("NO_SUCH_ACCOUNT")
        .WithFix("name them: 'glim admin user import --nss kim lee'; directories often list nobody by themselves");
  }
  return UsersOfMachine(all);
}

Result<std::vector<ImportedUser>> ParseUsers(const std::string& text, const std::string& source) {
  std::vector<ImportedUser> users;
  const yaml::Fields fields = {{"users", [&](const yaml::Node& node, const std::string& path) {
                                  const auto take = [&](const yaml::Entry& entry, const std::string& at) {
                                    return ReadUser(entry, at, &users.emplace_back());
                                  };
                                  return yaml::ReadEntries(node, path, "users: {kim: {teams: [vision]}}", take);
                                }}};
  if (Status read = yaml::ReadText(text, source, fields); !read.ok()) return read;
  return users;
}

Result<std::vector<ImportedUser>> UsersOfFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kUsersFileMax);
  if (!text.ok()) return text.status();
  return ParseUsers(*text, path == "-" ? "standard input" : path);
}

}  // namespace glim::cli
