// How the command line says that there is no snapshot. Pure.
#pragma once

#include <string>
#include <utility>

#include "sdk/base/status.h"

namespace glim::cli {

inline Status NoSnapshot(std::string message, std::string fix) {
  return InvalidArgument("code", std::move(message), std::move(fix)).WithReason("NO_SNAPSHOT");
}

}  // namespace glim::cli
