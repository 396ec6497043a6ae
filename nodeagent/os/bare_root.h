// A root that shows programs and /proc, and nothing else of the node.
#pragma once

#include <functional>
#include <string>

#include "sdk/base/status.h"

namespace glim::nodeagent {

struct BareRootMore {
  bool network = false;  // the node's stays
  // Shows more of the node below `root`, where the new root is put together.
  std::function<Status(const std::string& root)> show;
};

// From now on the calling process, root's and of one thread, sees /usr (with /bin, /lib and the like, read-only), /proc
// and /dev/null, and has no network and no shared memory with others. For programs that read what a job has written:
// whatever that makes them do, they do it there. `more` shows more. Not OK: it may still see all of the node.
Status EnterBareRoot(const BareRootMore& more = {});

}  // namespace glim::nodeagent
