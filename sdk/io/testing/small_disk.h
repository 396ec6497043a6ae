// A file system of a few MiB of its own (tmpfs, or ext4 on a loop device), for tests of full disks. For root alone: see
// CanMount, CanMountExt4. It is seen by this process and those that it starts, and goes with them.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/io/unique_fd.h"

namespace glim {

inline bool CanMount() { return ::geteuid() == 0; }
inline bool CanMountExt4() {
  return CanMount() && ::access("/dev/loop-control", R_OK | W_OK) == 0 && ::access("/sbin/mkfs.ext4", X_OK) == 0;
}

// Mounts that the test makes from now on are nobody else's.
inline void LeaveMountsOfOthers() {
  static const bool left =
      ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  GLIM_CHECK(left, "no mount namespace for the test");
}

class SmallDisk {
 public:
  enum class Kind { kTmpfs, kExt4 };

  // Over the folder `path`, which is there.
  SmallDisk(std::string path, int mebibytes, Kind kind = Kind::kTmpfs) : path_(std::move(path)) {
    LeaveMountsOfOthers();
    if (kind == Kind::kExt4) {
      MountExt4(mebibytes);
      return;
    }
    const std::string options = "mode=0700,size=" + std::to_string(mebibytes) + "m";
    GLIM_CHECK(::mount("tmpfs", path_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0, "no tmpfs");
  }
  ~SmallDisk() { ::umount2(path_.c_str(), MNT_DETACH); }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Until nothing more fits, in the file `name`, in addition to what it has.
  void Fill(const std::string& name) const {
    const UniqueFd fd(::open((path_ + "/" + name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const std::vector<char> bytes(4096, 'x');
    while (fd && ::write(fd.get(), bytes.data(), bytes.size()) > 0) {
    }
  }
  void Remove(const std::string& name) const { ::unlink((path_ + "/" + name).c_str()); }

 private:
  // The image has no name any more, and the loop device goes with the file system.
  void MountExt4(int mebibytes) const {
    const std::string image = "'" + path_ + ".ext4'";
    const std::string command = "truncate -s " + std::to_string(mebibytes) + "M " + image + " && /sbin/mkfs.ext4 -q " +
                                image + " && mount -o loop,nosuid,nodev " + image + " '" + path_ + "' && chmod 0700 '" +
                                path_ + "' && rm " + image;
    GLIM_CHECK(std::system(command.c_str()) == 0, "no ext4");
  }

  const std::string path_;
};

}  // namespace glim
