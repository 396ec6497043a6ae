// What this node says of accounts: files, or whatever directory it asks. Asking may hang for as long as that does.
#pragma once

#include <sys/types.h>

#include <string>

#include "sdk/base/result.h"

namespace glim::nodeagent {

// A user as the cluster's registry has it.
struct RegistryUser {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
};

// How the node's own accounts contradict that one, in words; empty: they do not. Who is unknown here contradicts
// nothing. `node`: this one's name. UNAVAILABLE: nobody could say, as when the directory is away.
Result<std::string> AccountFault(const RegistryUser& user, const std::string& node);

}  // namespace glim::nodeagent
