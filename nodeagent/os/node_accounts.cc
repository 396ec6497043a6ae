#include "nodeagent/os/node_accounts.h"

#include <pwd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

namespace glim::nodeagent {
namespace {

constexpr std::size_t kEntryBytesFirst = 4096;
constexpr std::size_t kEntryBytesMax = std::size_t{1} << 20;

struct Account {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

// `ask` is getpwnam_r or getpwuid_r of `key`.
template <typename Ask, typename Key>
Result<std::optional<Account>> Find(Ask ask, Key key) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> room(kEntryBytesFirst);
  int error = ask(key, &entry, room.data(), room.size(), &found);
  while (error == EINTR || (error == ERANGE && room.size() < kEntryBytesMax)) {
    if (error == ERANGE) room.resize(room.size() * 2);
    error = ask(key, &entry, room.data(), room.size(), &found);
  }
  if (found != nullptr) return std::optional(Account{entry.pw_name, entry.pw_uid, entry.pw_gid});
  // So sources say that they have nobody of that name, and that they are not there at all.
  if (error == 0 || error == ENOENT || error == ESRCH) return std::optional<Account>();
  return Status(StatusCode::kUnavailable, std::string("this node's accounts cannot be read: ") + std::strerror(error));
}

std::string Differs(const std::string& what, const std::string& here, const std::string& there,
                    const std::string& node) {
  return what + " " + here + " in the registry and " + there + " on node " + node;
}

}  // namespace

Result<std::string> AccountFault(const RegistryUser& user, const std::string& node) {
  const std::string whose = "user " + user.name + " has";
  const auto named = Find(::getpwnam_r, user.name.c_str());
  if (!named.ok()) return named.status();
  if (const std::optional<Account>& account = *named) {
    if (account->uid != user.uid) {
      return Differs(whose + " uid", std::to_string(user.uid), std::to_string(account->uid), node);
    }
    if (account->gid != user.gid) {
      return Differs(whose + " gid", std::to_string(user.gid), std::to_string(account->gid), node);
    }
    return std::string();
  }
  const auto numbered = Find(::getpwuid_r, user.uid);
  if (!numbered.ok()) return numbered.status();
  if (!numbered->has_value()) return std::string();
  return Differs("uid " + std::to_string(user.uid) + " is", user.name, (*numbered)->name, node);
}

}  // namespace glim::nodeagent
