#include "nodeagent/task/user_paths.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;

// The records are text that a zero byte ends: "at INDEX", and "found INDEX ERRNO REFUSED PATH".
constexpr char kEnd = '\0';

// A network file system may know a name and still hang when it is used. Opening asks the server. (Not of devices and
// pipes: opening these does something.) What may not be opened by who looks may do for who runs.
void Touch(const std::string& real) {
  struct stat info {};
  if (::stat(real.c_str(), &info) != 0 || !(S_ISDIR(info.st_mode) || S_ISREG(info.st_mode))) return;
  const UniqueFd fd(::open(real.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

PathAnswer Resolve(const std::string& path) {
  PathAnswer answer;
  char real[PATH_MAX];
  if (::realpath(path.c_str(), real) == nullptr) {
    answer.error = errno;
  } else {
    answer.real = real;
    Touch(answer.real);
  }
  return answer;
}

// 0 or errno. Each folder that is missing is made, closed to everybody but its owner.
int MakeMissing(const std::string& path, const std::optional<MakeRules>& rules) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      struct stat info {};
      const int error = errno;  // a file system may say EROFS or EACCES of a folder that is there
      if (::stat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return error;
    }
    if (slash == std::string::npos) break;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return errno;
  if (!S_ISDIR(info.st_mode)) return ENOTDIR;
  if (rules && ::lchown(path.c_str(), rules->owner.uid, rules->owner.gid) != 0) return errno;
  return 0;
}

PathAnswer Make(const std::string& path, const std::optional<MakeRules>& rules) {
  PathAnswer answer = Resolve(path);
  if (answer.error != ENOENT) return answer;
  if (rules) {
    // Nothing is made outside of what is allowed: asked of the nearest folder above that exists, links followed.
    PathAnswer above;
    for (std::string folder = path; above.real.empty();) {
      folder = folder.substr(0, std::max<std::size_t>(1, folder.rfind('/')));
      above = Resolve(folder);
      if (above.error != 0 && above.error != ENOENT) return above;
    }
    if (!IsAllowed(*rules, above.real)) {
      answer.refused = true;
      return answer;
    }
  }
  if (const int error = MakeMissing(path, rules); error != 0) {
    answer.error = error;
    return answer;
  }
  return Resolve(path);
}

// As the kernel sees this thread's file operations, while this lives. Root can, others are who they were.
class AsUser {
 public:
  explicit AsUser(const TaskUser& user) {
    ::setfsgid(user.gid);
    ::setfsuid(user.uid);
  }
  ~AsUser() {
    ::setfsuid(::geteuid());
    ::setfsgid(::getegid());
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;
};

// As the one who is to use it: a server that trusts nobody's root (NFS with root_squash) denies root what it gives that
// user. As ourselves where that user may not: the folders above may be the operator's.
PathAnswer LookAtWish(const PathWish& wish, const std::optional<MakeRules>& rules) {
  const auto look = [&] { return wish.make ? Make(wish.path, rules) : Resolve(wish.path); };
  if (rules && rules->owner.uid != ::geteuid()) {
    const AsUser user(rules->owner);
    const PathAnswer answer = look();
    if (answer.error != EACCES && answer.error != EPERM) return answer;
  }
  return look();
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
  for (const PathWish& wish : order.wishes) wishes.push_back({wish.field, wish.path, wish.make});
  json value = {{"wishes", wishes}, {"rules", nullptr}};
  if (const auto& rules = order.rules) {
    value["rules"] = {
        {"allow", rules->allow}, {"state_dir", rules->state_dir}, {"uid", rules->owner.uid}, {"gid", rules->owner.gid}};
  }
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<PathOrder> ParsePathOrder(const std::string& text) {
  try {
    const json value = json::parse(text);
    PathOrder order;
    for (const json& wish : value.at("wishes")) {
      order.wishes.push_back({wish.at(0).get<std::string>(), wish.at(1).get<std::string>(), wish.at(2).get<bool>()});
    }
    if (const json& rules = value.at("rules"); !rules.is_null()) {
      order.rules = MakeRules{rules.at("allow").get<std::vector<std::string>>(),
                              rules.at("state_dir").get<std::string>(),
                              {rules.at("uid").get<uid_t>(), rules.at("gid").get<gid_t>()}};
    }
    return order;
  } catch (const json::exception& error) {
    return Status(StatusCode::kInvalidArgument, std::string("the order of paths: ") + error.what());
  }
}

void LookAt(const PathOrder& order, const std::function<void(const std::string& record)>& tell) {
  for (std::size_t i = 0; i < order.wishes.size(); ++i) {
    const PathWish& wish = order.wishes[i];
    tell("at " + std::to_string(i) + kEnd);
    const PathAnswer answer = LookAtWish(wish, order.rules);
    tell("found " + std::to_string(i) + " " + std::to_string(answer.error) + " " + (answer.refused ? "1 " : "0 ") +
         answer.real + kEnd);
  }
}

PathRecords ReadPathRecords(const PathOrder& order, std::string_view records) {
  PathRecords read;
  for (std::size_t end = records.find(kEnd); end != std::string_view::npos; end = records.find(kEnd)) {
    std::istringstream words{std::string(records.substr(0, end))};
    records.remove_prefix(end + 1);
    std::string verb;
    std::size_t index = 0;
    if (!(words >> verb >> index) || index >= order.wishes.size()) continue;
    const PathWish& wish = order.wishes[index];
    if (verb == "at") {
      read.looking_at = wish;
      continue;
    }
    PathAnswer answer;
    if (verb != "found" || !(words >> answer.error >> answer.refused)) continue;
    words.get();  // the blank
    std::getline(words, answer.real, kEnd);
    read.answers[wish.field] = answer;
    read.looking_at.reset();
  }
  return read;
}

}  // namespace glim::nodeagent
