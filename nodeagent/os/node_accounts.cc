#include "nodeagent/os/node_accounts.h"

#include <pwd.h>

namespace glim::nodeagent {
namespace {

std::string Differs(const std::string& what, const std::string& here, const std::string& there,
                    const std::string& node) {
  return what + " " + here + " in the registry and " + there + " on node " + node;
}

}  // namespace

std::string AccountFault(const RegistryUser& user, const std::string& node) {
  const std::string whose = "user " + user.name + " has";
  // One thread, in a program of its own: the static results are ours.
  if (const passwd* named = ::getpwnam(user.name.c_str())) {
    if (named->pw_uid != user.uid) {
      return Differs(whose + " uid", std::to_string(user.uid), std::to_string(named->pw_uid), node);
    }
    if (named->pw_gid != user.gid) {
      return Differs(whose + " gid", std::to_string(user.gid), std::to_string(named->pw_gid), node);
    }
    return "";
  }
  const passwd* numbered = ::getpwuid(user.uid);
  if (numbered == nullptr) return "";
  return Differs("uid " + std::to_string(user.uid) + " is", user.name, numbered->pw_name, node);
}

}  // namespace glim::nodeagent
