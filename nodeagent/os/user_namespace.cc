#include "nodeagent/os/user_namespace.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace glim::nodeagent {
namespace {

// Which step failed; the error is the child's exit status otherwise.
constexpr int kNoProc = 200;
constexpr int kNoFork = 201;

int WaitFor(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kNoFork;
}

[[noreturn]] void Try() {
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0) ::_exit(errno);
  const pid_t inside = ::fork();  // the first process of the new process ids
  if (inside == 0) {
    ::_exit(::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 ? 0 : kNoProc);
  }
  ::_exit(inside < 0 ? kNoFork : WaitFor(inside));
}

}  // namespace

std::string WhyNoUserNamespaces() {
  const pid_t child = ::fork();
  if (child == 0) Try();
  const int code = child < 0 ? kNoFork : WaitFor(child);
  if (code == 0) return "";
  if (code == kNoProc) return "it gives them no /proc of their own: parts of this one are covered";
  if (code == kNoFork) return "they cannot be tried here";
  return code == ENOSPC ? "user.max_user_namespaces allows none" : std::string("unshare: ") + std::strerror(code);
}

}  // namespace glim::nodeagent
