// A real file system that is soon full, for tests.
#pragma once

#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

namespace glim::checkpoint::testing {

// A file system in memory of `bytes`, as long as the object lives.
class SmallDisk {
 public:
  SmallDisk(std::string path, const std::string& bytes) : path_(std::move(path)) {
    std::filesystem::create_directory(path_);
    mounted_ = ::mount("glim-test", path_.c_str(), "tmpfs", 0, ("size=" + bytes).c_str()) == 0;
    error_ = errno;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  std::string error() const { return mounted_ ? "" : std::strerror(error_); }

 private:
  const std::string path_;
  bool mounted_ = false;
  int error_ = 0;
};

}  // namespace glim::checkpoint::testing
