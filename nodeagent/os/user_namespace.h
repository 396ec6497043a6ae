// User namespaces: a container's processes have ids there that stand for others on the node.
#pragma once

#include <sys/types.h>

#include <string>

#include "sdk/base/container_root_id.h"

namespace glim::nodeagent {

inline constexpr uid_t kRootInside = kContainerRootId;

// Why this kernel, or who runs it, gives root no user namespace with a /proc of its own; empty: it does. It tries, in
// a child; some milliseconds.
std::string WhyNoUserNamespaces();

}  // namespace glim::nodeagent
