// What is wrong with an argument of the communicator's.
#pragma once

#include <string>

#include "sdk/base/status.h"

namespace glim::hfreduce {

inline Status Wrong(const char* field, const std::string& what, const std::string& fix) {
  return Status(StatusCode::kInvalidArgument, std::string(field) + " " + what).WithField(field).WithFix(fix);
}

}  // namespace glim::hfreduce
