// Where an image is unpacked: a root that shows programs, /etc and nothing else of the node; a file system of its own
// with bounds in bytes and files; no rights; process ids of its own, which all end with the first.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "nodeagent/images/image_order.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

struct ClosedRoot {
  TaskUser user;      // whose rights whoever works there has
  UniqueFd source;    // a clone (CloneMount) that is shown at kSource, read-only; none: nothing is
  std::string image;  // a file, root's, empty: shown at kImage
  std::string work;   // a path where a file for the file system is made; gone afterwards
  std::uint64_t bytes = 0, files = 0;
  std::function<ImageAnswer()> job;  // in there
  std::function<void()> on_wait;     // here, twice a second while it works
};

// The calling process is root's, of one thread, and has mounts of its own (LeaveNodesMounts). Comes back when nothing
// of it runs any more.
ImageAnswer WorkIn(const ClosedRoot& root);

}  // namespace glim::nodeagent
