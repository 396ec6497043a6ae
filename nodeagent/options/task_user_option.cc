#include "nodeagent/options/task_user_option.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "sdk/log/log.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kGroupsMax = 1024;

Status Refuse(const std::string& text, const std::string& what, const std::string& fix) {
  return InvalidArgument("--task-user", "--task-user \"" + text + "\" " + what, fix);
}

std::optional<TaskUser> FromNumbers(const std::string& text) {
  std::vector<gid_t> ids;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ':');) {
    gid_t id = 0;
    const char* end = word.data() + word.size();
    const auto [read, error] = std::from_chars(word.data(), end, id);
    if (error != std::errc() || read != end) return std::nullopt;
    ids.push_back(id);
  }
  if (ids.size() < 2 || text.back() == ':') return std::nullopt;
  return TaskUser{ids[0], ids[1], {ids.begin() + 2, ids.end()}};
}

// With the groups that the node has for it.
std::optional<TaskUser> FromName(const std::string& name) {
  const passwd* entry = ::getpwnam(name.c_str());
  if (entry == nullptr) return std::nullopt;
  TaskUser user{entry->pw_uid, entry->pw_gid, {}};
  int count = 64;
  user.groups.resize(static_cast<std::size_t>(count));
  if (::getgrouplist(name.c_str(), user.gid, user.groups.data(), &count) < 0) {
    user.groups.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(name.c_str(), user.gid, user.groups.data(), &count) < 0) return std::nullopt;
  }
  user.groups.resize(static_cast<std::size_t>(count));
  std::erase(user.groups, user.gid);
  return user;
}

Status CompleteTaskUser(const std::string& text, std::optional<TaskUser>* out) {
  const bool is_number = text.find_first_not_of("0123456789:") == std::string::npos;
  std::optional<TaskUser> user = is_number ? FromNumbers(text) : FromName(text);
  if (!user && is_number)
    return Refuse(text, "is not UID:GID[:GROUP...]", "for example 1000:1000, or an account's name");
  if (!user) return Refuse(text, "is no account of this node", "make it with useradd, or write UID:GID");
  if (const std::string wrong = WhyNoTaskUser(*user); !wrong.empty()) {
    return Refuse(text, wrong, "name an account without root's rights, such as 1000:1000");
  }
  *out = std::move(user);
  return Status::Ok();
}

}  // namespace

std::string WhyNoTaskUser(const TaskUser& user) {
  constexpr auto kNobodys = static_cast<gid_t>(-1);  // which the kernel takes for "leave it as it is"
  if (user.uid == 0) return "has uid 0";
  if (user.gid == 0) return "has gid 0";
  if (std::find(user.groups.begin(), user.groups.end(), 0) != user.groups.end()) return "is in the group with gid 0";
  if (user.groups.size() > kGroupsMax) return "is in more than " + std::to_string(kGroupsMax) + " groups";
  const bool is_none = user.uid == kNobodys || user.gid == kNobodys ||
                       std::find(user.groups.begin(), user.groups.end(), kNobodys) != user.groups.end();
  return is_none ? "has an id that is none, " + std::to_string(kNobodys) : "";
}

Status CompleteUsers(const UserOptions& said, std::optional<TaskUser>* user) {
  if (said.in_containers) {
    if (said.any_user) {
      return InvalidArgument("--any-user", "--any-user: tasks in containers are their users",
                             "leave it out; --task-user says who those are whose user has no uid in the registry");
    }
    return said.text.empty() ? Status::Ok() : CompleteTaskUser(said.text, user);
  }
  if (!said.text.empty()) {
    return InvalidArgument("--task-user", "--task-user: plain processes run as the agent's own user",
                           "use --runtime runc, or leave it out");
  }
  if (said.any_user) {
    LogWarning("event=any_user uid={} note=\"every user's job has all rights of this agent's own user\"", ::geteuid());
  } else if (::geteuid() == 0) {
    LogWarning(
        "event=no_user note=\"plain processes of root's: no job is placed here; use --runtime runc, or for "
        "development --any-user\"");
  }
  return Status::Ok();
}

}  // namespace glim::nodeagent
