#include "nodeagent/os/bare_root.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "sdk/io/io_error.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kPlace = "/tmp";  // every system has it
constexpr const char* kPrograms[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};
constexpr unsigned long kHarmless = MS_NOSUID | MS_NODEV;

bool Bind(const std::string& path, unsigned long more) {
  const std::string place = kPlace + path;
  return ::mount(path.c_str(), place.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0 &&
         (more == 0 || ::mount(nullptr, place.c_str(), nullptr, MS_BIND | MS_REMOUNT | more, nullptr) == 0);
}

// A folder, or the link that stands in its place where all programs are in /usr; what is not there is not shown.
bool ShowPrograms(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target - 1);
  if (size > 0) {
    target[size] = '\0';
    return ::symlink(target, (kPlace + path).c_str()) == 0;
  }
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return true;
  return ::mkdir((kPlace + path).c_str(), 0755) == 0 && Bind(path, MS_RDONLY | kHarmless);
}

bool ShowRest() {
  const std::string dev = std::string(kPlace) + "/dev";
  if (::mkdir((kPlace + std::string("/proc")).c_str(), 0755) != 0 || !Bind("/proc", 0)) return false;
  if (::mkdir(dev.c_str(), 0755) != 0 || ::chmod(dev.c_str(), 0755) != 0) return false;  // whatever the umask is
  const UniqueFd null(::open((dev + "/null").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  return null && Bind("/dev/null", 0);
}

}  // namespace

Status EnterBareRoot(const BareRootMore& more) {
  const auto fault = [](const char* doing) { return IoError(errno, doing); };
  if (::unshare(CLONE_NEWNS | CLONE_NEWIPC | (more.network ? 0 : CLONE_NEWNET)) != 0)
    return fault("leave the node's namespaces");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("glim", kPlace, "tmpfs", kHarmless, "size=64k,mode=755") != 0) {
    return fault("make a root");
  }
  for (const char* path : kPrograms) {
    if (!ShowPrograms(path)) return fault("show the programs");
  }
  if (!ShowRest()) return fault("show /proc");
  if (more.show) {
    if (Status status = more.show(kPlace); !status.ok()) return status;
  }
  if (::mount(nullptr, kPlace, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY | kHarmless, nullptr) != 0 ||
      ::chdir(kPlace) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 || ::umount2(".", MNT_DETACH) != 0 ||
      ::chdir("/") != 0) {
    return fault("enter the root");
  }
  return Status::Ok();
}

}  // namespace glim::nodeagent
