// CallObserver: told how long calls took, how they were answered, and which were denied.
#pragma once

#include <string>

#include "scheduler/server/door/permissions.h"
#include "sdk/base/status.h"

namespace glim::server {

class CallObserver {
 public:
  virtual ~CallObserver() = default;
  // A unary call, refused ones too: from when its handler had the request until its answer was handed over or given up.
  // `row` is one of Permissions(). Any thread.
  virtual void OnCallDone(const Permission& row, double seconds, StatusCode code) = 0;
  // `reason` is the denial's, one of few. Any thread.
  virtual void OnDenied(const std::string& reason) = 0;
};

}  // namespace glim::server
