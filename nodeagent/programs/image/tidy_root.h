// Makes of an unpacked image what tasks of any user can run in: the files are root's in the end, and a task is never
// root. Blocking; nothing else may write there meanwhile.
#pragma once

#include <string>

#include "nodeagent/images/image_order.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

// Every folder may be written to and every file be read by all (each task has its own upper folder over the image);
// no file is set-uid or set-gid; devices, sockets and pipes are gone. What the task's container is mounted on is there
// as folders and files, not as links. Returns what is known by looking: shell, libc, passwd, group.
// INVALID_ARGUMENT: nothing can run in it.
Result<ImageFacts> TidyRoot(const std::string& root);

}  // namespace glim::nodeagent
