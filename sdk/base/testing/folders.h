// Where tests find the project's files and the programs that were built: no compiled test knows a path, so that a
// compiler's cache serves every clone.
//
// GLIM_SOURCE_DIR and GLIM_BINARY_DIR in the environment name the two folders. Without them, the running program lies
// in the build folder's test/ (or bin/), and the build folder is SOURCE/build/PRESET, as CMakePresets.json has it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace glim::testing_folders {

inline std::filesystem::path Folder(const char* variable, const char* above) {
  if (const char* named = std::getenv(variable); named != nullptr && *named != '\0') return named;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return (own / above).lexically_normal();
}

}  // namespace glim::testing_folders

namespace glim {

// A file of the checkout, by its path from the root: SourceFile("deploy/agent.yaml"). Any thread.
inline std::string SourceFile(const std::string& path) {
  static const std::filesystem::path root = testing_folders::Folder("GLIM_SOURCE_DIR", "../../..");
  return (root / path).lexically_normal().string();
}

// A file that was built, by its path from the build folder: BuiltFile("bin/glim"). Any thread.
inline std::string BuiltFile(const std::string& path) {
  static const std::filesystem::path root = testing_folders::Folder("GLIM_BINARY_DIR", "..");
  return (root / path).lexically_normal().string();
}

}  // namespace glim
