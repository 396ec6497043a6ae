// Becomes a user, for good, with the rights of the user's programs and no others.
#pragma once

#include <sys/types.h>

#include <vector>

#include "sdk/base/status.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

// Of a process that is in another user namespace than the caller; else, and where nobody may look, none.
UniqueFd OtherUserNamespaceOf(pid_t pid);

// For root in a process of one thread. With a namespace it is joined, so that the kernel compares the caller with the
// programs there as with each other: no privilege of theirs is more than the caller's, which is none. A namespace that
// cannot be joined is left out: the caller may do less then. Ids are the node's, not the namespace's.
// Not OK: the ids could not be changed, and the caller is to end.
Status BecomeUser(uid_t uid, gid_t gid, const std::vector<gid_t>& groups, const UniqueFd& user_namespace);

}  // namespace glim::nodeagent
