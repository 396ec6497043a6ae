// A root that shows programs and /proc, and nothing else of the node.
#pragma once

#include "sdk/base/status.h"

namespace glim::nodeagent {

// From now on the calling process, root's and of one thread, sees /usr (with /bin, /lib and the like, read-only), /proc
// and /dev/null, and has no network and no shared memory with others. For programs that read what a job has written:
// whatever that makes them do, they do it there. Not OK: it may still see all of the node.
Status EnterBareRoot();

}  // namespace glim::nodeagent
