// How a job file writes its launcher.
#pragma once

#include <string_view>

#include "glim/v1/job.pb.h"

namespace glim::jobfile {

inline constexpr std::string_view kLaunchers[] = {"node", "per-gpu"};

// Of one of kLaunchers.
inline glim::v1::Launcher LauncherOf(std::string_view word) {
  return word == kLaunchers[1] ? glim::v1::LAUNCHER_PER_GPU : glim::v1::LAUNCHER_NODE;
}

inline std::string_view WordOf(glim::v1::Launcher launcher) {
  return kLaunchers[launcher == glim::v1::LAUNCHER_PER_GPU ? 1 : 0];
}

}  // namespace glim::jobfile
