// User namespaces: a container's processes have ids there that stand for others on the node.
#pragma once

#include <sys/types.h>

#include <string>

namespace glim::nodeagent {

// What stands for root in a container, as user and as group: an id that owns nothing and that nobody has. (Ids from
// 2^31 up are nobody's by convention, and files of them are none: systemd's uids table.)
inline constexpr uid_t kRootInside = 4'294'900'000;

// Why this kernel, or who runs it, gives root no user namespace with a /proc of its own; empty: it does. It tries, in
// a child; some milliseconds.
std::string WhyNoUserNamespaces();

}  // namespace glim::nodeagent
