#include "nodeagent/runtime/spawn_shim.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

#include "nodeagent/os/run_program.h"
#include "sdk/io/io_error.h"

namespace glim::nodeagent {

Result<UniqueFd> LockShimFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return FileError("open", path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return Status(StatusCode::kAlreadyExists, path + " is held");
  return fd;
}

bool ShimFileIsLocked(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  return fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
}

Result<pid_t> SpawnShim(const std::string& shim, const TaskPaths& paths, int lock) {
  const Result<pid_t> pid = StartProgram({shim, paths.folder}, {}, paths.shim_log(), {{lock, 3}});
  if (pid.ok()) return *pid;
  return Status(pid.status()).WithFix("give glim-shim's path with --shim");
}

}  // namespace glim::nodeagent
