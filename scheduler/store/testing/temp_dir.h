// A directory under the system's temporary one, removed with its contents.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sdk/base/check.h"

namespace glim::store {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "glim-store-XXXXXX").string();
    GLIM_CHECK(::mkdtemp(name.data()) != nullptr, "cannot make " + name);
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::string File(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace glim::store
