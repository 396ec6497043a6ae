// CallObserver: told how long calls took.
#pragma once

#include "scheduler/server/door/permissions.h"

namespace glim::server {

class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // A unary call, refused ones too: from when its handler had the request until its answer was handed over or given up.
  // `row` is one of kPermissions. Any thread.
  virtual void OnCallDone(const Permission& row, double seconds) = 0;
};

}  // namespace glim::server
