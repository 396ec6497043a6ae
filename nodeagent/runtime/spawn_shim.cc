#include "nodeagent/runtime/spawn_shim.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>

#include "nodeagent/runtime/files.h"

namespace glim::agent {

Result<UniqueFd> LockShimFile(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return FileError("open", path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return Status(StatusCode::kAlreadyExists, path + " is held");
  return fd;
}

Result<pid_t> SpawnShim(const std::string& shim, const TaskPaths& paths, int lock) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  const std::string log = paths.shim_log();
  // A descriptor above those given out here, so that no dup2 below runs over it.
  UniqueFd high_lock(::fcntl(lock, F_DUPFD_CLOEXEC, 10));
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_adddup2(&actions, high_lock.get(), 3);
  posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string program = shim, folder = paths.folder;
  char* arguments[] = {program.data(), folder.data(), nullptr};
  char* environment[] = {nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, shim.c_str(), &actions, &attributes, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return Status(StatusCode::kFailedPrecondition, "cannot start " + shim + ": " + std::strerror(error))
        .WithFix("give glim-shim's path with --shim");
  }
  return pid;
}

}  // namespace glim::agent
