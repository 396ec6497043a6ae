// For tests: a folder as the kernel's /sys/class/infiniband, with the ports that a test wants.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "sdk/base/check.h"

namespace glim::net::testing {

// Removed at the end.
class RdmaFolder {
 public:
  RdmaFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "glim-rdma-XXXXXX").string();
    GLIM_CHECK(::mkdtemp(name.data()) != nullptr, "no folder");
    path_ = name;
  }
  ~RdmaFolder() { std::filesystem::remove_all(path_); }
  RdmaFolder(const RdmaFolder&) = delete;
  RdmaFolder& operator=(const RdmaFolder&) = delete;

  // `state` as the kernel writes it: "4: ACTIVE", "1: DOWN". `interface`: of RoCE.
  void Add(const std::string& device, const std::string& state, const std::string& interface = "") {
    const std::filesystem::path port = std::filesystem::path(path_) / device / "ports" / "1";
    std::filesystem::create_directories(port / "gid_attrs" / "ndevs");
    std::ofstream(port / "state") << state << "\n";
    if (!interface.empty()) std::ofstream(port / "gid_attrs" / "ndevs" / "1") << interface << "\n";
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace glim::net::testing
