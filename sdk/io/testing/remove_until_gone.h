// For tests: a folder goes beside others that remove in it as well. An agent removes a task's folder by a process that
// is nobody's child and outlives the agent, so nobody can wait for that; one walk may then find an entry that has just
// gone, and another walk does not.
#pragma once

#include <filesystem>
#include <system_error>

#include "sdk/base/testing/waits.h"

namespace glim {

// Whether the folder was gone in time.
inline bool RemoveUntilGone(const std::filesystem::path& folder) {
  return Eventually([&] {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    return !error && !std::filesystem::exists(folder, error);
  });
}

}  // namespace glim
