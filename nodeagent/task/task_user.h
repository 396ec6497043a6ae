// Who a container's processes are.
#pragma once

#include <sys/types.h>

namespace glim::nodeagent {

struct TaskUser {
  uid_t uid = 0;
  gid_t gid = 0;
};

}  // namespace glim::nodeagent
