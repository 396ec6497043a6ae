// For tests: an SDK's folder.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace glim::nodeagent {

// As the build stages it.
inline std::string MakeSdk(const std::string& folder) {
  std::filesystem::create_directories(folder + "/python/glim");
  std::filesystem::create_directories(folder + "/bin");
  std::ofstream(folder + "/python/glim/__init__.py") << "";
  std::ofstream(folder + "/bin/glim-task") << "";
  return std::filesystem::canonical(folder).string();
}

}  // namespace glim::nodeagent
