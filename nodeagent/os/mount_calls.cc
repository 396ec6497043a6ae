#include "nodeagent/os/mount_calls.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace glim::nodeagent {
namespace {

UniqueFd Open(const std::string& path, std::uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = resolve;
  return UniqueFd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

std::string Refused(const char* call) { return std::string(call) + ": " + std::strerror(errno); }

}  // namespace

UniqueFd OpenWithoutLinks(const std::string& path) { return Open(path, RESOLVE_NO_SYMLINKS); }
UniqueFd OpenFollowingLinks(const std::string& path) { return Open(path, RESOLVE_NO_MAGICLINKS); }

std::string PathOf(int fd) {
  char path[PATH_MAX];
  const ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  return n > 0 && n < static_cast<ssize_t>(sizeof path) && path[0] == '/' ? std::string(path, path + n) : "";
}

int LeaveNodesMounts() {
  if (::unshare(CLONE_NEWNS) != 0) return -1;
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr);
}

UniqueFd CloneMounts(int fd) {
  return UniqueFd(::open_tree(fd, "", AT_EMPTY_PATH | AT_RECURSIVE | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

UniqueFd CloneMount(int fd) {
  return UniqueFd(::open_tree(fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

int RestrictMounts(int clone, bool read_only) {
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (read_only ? MOUNT_ATTR_RDONLY : 0);
  return ::mount_setattr(clone, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes, sizeof attributes);
}

int AttachMounts(int clone, int place) {
  return ::move_mount(clone, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

std::string WhyNoMountCalls() {
  const UniqueFd root = OpenWithoutLinks("/");
  if (!root) return Refused("openat2");
  // Of the root folder alone, and nowhere mounted.
  const UniqueFd clone(::open_tree(root.get(), "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!clone) return Refused("open_tree");
  if (RestrictMounts(clone.get(), true) != 0) return Refused("mount_setattr");
  // It names no mount: a kernel that has the call says so.
  if (::move_mount(-1, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0 && errno != EBADF) return Refused("move_mount");
  return "";
}

}  // namespace glim::nodeagent
