// For tests: a folder goes beside others that remove in it as well. An agent removes a task's folder by a process that
// is nobody's child and outlives the agent, so nobody can wait for that; one walk may then find an entry that has just
// gone, and another walk does not.
#pragma once

#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>

namespace glim {

// Whether the folder was gone within `bound`.
inline bool RemoveUntilGone(const std::filesystem::path& folder,
                            std::chrono::milliseconds bound = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + bound;
  for (std::error_code error;; std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
    std::filesystem::remove_all(folder, error);
    if (!error && !std::filesystem::exists(folder, error)) return true;
    if (std::chrono::steady_clock::now() > end) return false;
  }
}

}  // namespace glim
