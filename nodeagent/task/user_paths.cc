#include "nodeagent/task/user_paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "nodeagent/os/file_user.h"
#include "nodeagent/os/mount_calls.h"
#include "nodeagent/task/saves_folder.h"
#include "nodeagent/task/task_user_json.h"
#include "sdk/io/trusted_folder.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;

// The records are text that a zero byte ends: "account FAULT" or "accounts WHY_NOT", "at INDEX", and "found INDEX ERRNO
// REFUSED PATH".
constexpr char kEnd = '\0';

constexpr mode_t kSharedFolderMode = 02750;

// A network file system may know a name and still hang when it is used. Opening asks the server. (Not of devices and
// pipes: opening these does something.) What may not be opened by who looks may do for who runs.
void Touch(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !(S_ISDIR(info.st_mode) || S_ISREG(info.st_mode))) return;
  const std::string itself = "/proc/self/fd/" + std::to_string(fd);
  const UniqueFd open(::open(itself.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

PathAnswer AnswerOf(const UniqueFd& fd) {
  PathAnswer answer;
  if (!fd) {
    answer.error = errno;
  } else {
    answer.real = PathOf(fd.get());
    if (answer.real.empty()) answer.error = ENAMETOOLONG;
    Touch(fd.get());
  }
  return answer;
}

UniqueFd Open(const std::string& path, const std::optional<MakeRules>& rules) {
  // Links of /proc lead to folders of other mount namespaces, whose paths mean something else.
  return rules ? OpenFollowingLinks(path) : UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC));
}

void MountOnDemand(const std::string& path) {
  struct statx info {};
  (void)::statx(AT_FDCWD, path.c_str(), 0, STATX_TYPE, &info);
}

PathAnswer Resolve(const std::string& path, const std::optional<MakeRules>& rules) {
  MountOnDemand(path);
  return AnswerOf(Open(path, rules));
}

// 0 or errno. Closed to everybody but its owner; `owner`: whose it is made, none: the caller's.
int MakeFolderIn(int folder, const std::string& name, const TaskUser* owner) {
  std::optional<FileUser> as;
  if (owner) as.emplace(owner->uid, owner->gid, owner->groups, FileUser::May::kPassEverywhere);
  return ::mkdirat(folder, name.c_str(), 0700) == 0 ? 0 : errno;
}

// By the descriptor: whoever owns it may, and root.
void ChangeMode(int fd, mode_t mode) { (void)::chmod(("/proc/self/fd/" + std::to_string(fd)).c_str(), mode); }

// Makes the folders of `rest` below `above` where they are missing, and returns the last. Along descriptors, and never
// over a link: users may exchange what is on the way. No folder, and errno, if that failed.
UniqueFd MakeMissing(UniqueFd above, const std::string& rest, bool group_readable) {
  std::istringstream names(rest);
  for (std::string name; std::getline(names, name, '/');) {
    if (name.empty()) continue;
    const bool last = names.eof();
    const int error = MakeFolderIn(above.get(), name, nullptr);
    UniqueFd next(::openat(above.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) {
      // (A file system may say EROFS or EACCES of a folder that is there.)
      if (error != 0 && error != EEXIST) errno = error;
      return next;
    }
    if (error == 0 && group_readable) ChangeMode(next.get(), last ? kSharedFolderMode : kJobsFolderMode);
    above = std::move(next);
  }
  return above;
}

PathAnswer Make(const std::string& path, const std::optional<MakeRules>& rules, bool group_readable) {
  PathAnswer answer = Resolve(path, rules);
  if (answer.error != ENOENT) return answer;
  std::string folder = path;
  UniqueFd above;
  while (!above) {
    folder = folder.substr(0, std::max<std::size_t>(1, folder.rfind('/')));
    above = Open(folder, rules);
    if (!above && errno != ENOENT) return AnswerOf(above);
  }
  // Nothing is made outside of what is allowed: asked of the nearest folder above that exists, links followed.
  if (rules && !IsAllowed(*rules, PathOf(above.get()))) {
    answer.refused = true;
    return answer;
  }
  return AnswerOf(MakeMissing(std::move(above), path.substr(folder.size()), group_readable));
}

// ROOT/jobs/JOB, as whoever calls, who makes `jobs` and, for `owner`, JOB; or as the job's user, who makes JOB alone:
// whose `jobs` is may exchange everybody's saves.
PathAnswer LookAtSaves(const PathWish& wish, const PathOrder& order, bool as_user) {
  const MakeRules& rules = *order.rules;
  const TaskUser* const owner = as_user || rules.owner.uid == ::geteuid() ? nullptr : &rules.owner;
  const SavesPath path = SplitSavesPath(wish.path);
  MountOnDemand(path.root);
  const UniqueFd root = OpenFollowingLinks(path.root);
  if (!root) return AnswerOf(root);
  PathAnswer answer;
  answer.refused = !IsAllowed(rules, PathOf(root.get()));
  if (answer.refused) return answer;
  const int unmade = as_user ? 0 : MakeTrusted(root.get(), path.jobs, kJobsFolderMode);
  SavesFolder saves = OpenSaves(root.get(), path, rules.owner.uid, [&](int jobs) {
    errno = MakeFolderIn(jobs, path.job, owner);
    if (errno != 0 || !order.group_readable) return;
    const UniqueFd made(::openat(jobs, path.job.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (made) ChangeMode(made.get(), kSharedFolderMode);
    errno = 0;
  });
  if (saves.error == 0) return AnswerOf(saves.fd);
  answer.error = saves.error;
  answer.why = std::move(saves.why);
  if (saves.error == ENOENT && unmade != 0) {
    answer.error = unmade;
    answer.why = "there is no " + path.root + "/" + path.jobs +
                 ", and the agent cannot make it: an operator makes it (root, mode 1777)";
  }
  return answer;
}

// As the one who is to use it, and with no more than that one's rights: a folder that is open to all behind one that is
// closed is not for who may not pass. (And a server that trusts nobody's root, NFS with root_squash, denies root what
// it gives that user.)
PathAnswer LookAtWish(const PathWish& wish, const PathOrder& order) {
  const std::optional<MakeRules>& rules = order.rules;
  const bool own_choice = rules && wish.by_agent;
  const auto look = [&](bool as_user) {
    if (own_choice) return LookAtSaves(wish, order, as_user);
    return wish.make ? Make(wish.path, rules, order.group_readable) : Resolve(wish.path, rules);
  };
  if (!rules || rules->owner.uid == ::geteuid()) return look(false);
  {
    const FileUser user(rules->owner.uid, rules->owner.gid, rules->owner.groups);
    PathAnswer answer = look(true);
    if (!own_choice || (answer.error != EACCES && answer.error != EPERM && answer.error != ENOENT)) return answer;
  }
  return look(false);
}

}  // namespace

bool IsWithin(const std::string& path, const std::string& folder) {
  return folder == "/" || path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

bool IsAllowed(const MakeRules& rules, const std::string& real) {
  // Whatever the operator's list says, a job gets neither the agent's own folder, nor one that holds it, nor the
  // kernel's.
  if (IsWithin(real, rules.state_dir) || IsWithin(rules.state_dir, real)) return false;
  for (const char* folder : {"/proc", "/sys", "/dev"}) {
    if (IsWithin(real, folder)) return false;
  }
  return std::any_of(rules.allow.begin(), rules.allow.end(),
                     [&](const std::string& folder) { return IsWithin(real, folder); });
}

std::string ToJson(const PathOrder& order) {
  json wishes = json::array();
  for (const PathWish& wish : order.wishes) wishes.push_back({wish.field, wish.path, wish.make, wish.by_agent});
  json value = {{"wishes", wishes}, {"rules", nullptr}, {"account", nullptr}, {"group_readable", order.group_readable}};
  if (const auto& account = order.account) {
    const RegistryUser& user = account->user;
    value["account"] = {{"name", user.name}, {"uid", user.uid}, {"gid", user.gid}, {"node", account->node}};
  }
  if (const auto& rules = order.rules) {
    value["rules"] = JsonOf(rules->owner);
    value["rules"].update({{"allow", rules->allow}, {"state_dir", rules->state_dir}});
  }
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<PathOrder> ParsePathOrder(const std::string& text) {
  try {
    const json value = json::parse(text);
    PathOrder order;
    for (const json& wish : value.at("wishes")) {
      order.wishes.push_back({wish.at(0).get<std::string>(), wish.at(1).get<std::string>(), wish.at(2).get<bool>(),
                              wish.size() > 3 && wish.at(3).get<bool>()});  // earlier versions knew three
    }
    if (const json& rules = value.at("rules"); !rules.is_null()) {
      order.rules = MakeRules{rules.at("allow").get<std::vector<std::string>>(),
                              rules.at("state_dir").get<std::string>(), UserFromJson(rules)};
    }
    if (const json account = value.value("account", json()); !account.is_null()) {
      order.account = AccountWish{
          {account.at("name").get<std::string>(), account.at("uid").get<uid_t>(), account.at("gid").get<gid_t>()},
          account.at("node").get<std::string>()};
    }
    order.group_readable = value.value("group_readable", false);
    return order;
  } catch (const json::exception& error) {
    return Status(StatusCode::kInvalidArgument, std::string("the order of paths: ") + error.what());
  }
}

void LookAt(const PathOrder& order, const std::function<void(const std::string& record)>& tell) {
  if (const auto& account = order.account) {
    const Result<std::string> fault = AccountFault(account->user, account->node);
    tell((fault.ok() ? "account " + *fault : "accounts " + fault.status().message()) + kEnd);
    if (!fault.ok() || !fault->empty()) return;
  }
  for (std::size_t i = 0; i < order.wishes.size(); ++i) {
    const PathWish& wish = order.wishes[i];
    tell("at " + std::to_string(i) + kEnd);
    const PathAnswer answer = LookAtWish(wish, order);
    tell("found " + std::to_string(i) + " " + std::to_string(answer.error) + " " + (answer.refused ? "1 " : "0 ") +
         (answer.error == 0 ? answer.real : answer.why) + kEnd);
  }
}

PathRecords ReadPathRecords(const PathOrder& order, std::string_view records) {
  PathRecords read;
  for (std::size_t end = records.find(kEnd); end != std::string_view::npos; end = records.find(kEnd)) {
    std::istringstream words{std::string(records.substr(0, end))};
    records.remove_prefix(end + 1);
    std::string verb;
    std::size_t index = 0;
    if (words >> verb && (verb == "account" || verb == "accounts")) {
      words.get();  // the blank
      std::getline(words, (verb == "account" ? read.account_fault : read.accounts_unread).emplace(), kEnd);
      continue;
    }
    if (!(words >> index) || index >= order.wishes.size()) continue;
    const PathWish& wish = order.wishes[index];
    if (verb == "at") {
      read.looking_at = wish;
      continue;
    }
    PathAnswer answer;
    if (verb != "found" || !(words >> answer.error >> answer.refused)) continue;
    words.get();  // the blank
    std::getline(words, answer.error == 0 ? answer.real : answer.why, kEnd);
    read.answers[wish.field] = answer;
    read.looking_at.reset();
  }
  return read;
}

}  // namespace glim::nodeagent
