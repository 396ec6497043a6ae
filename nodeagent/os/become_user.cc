#include "nodeagent/os/become_user.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "sdk/io/io_error.h"

namespace glim::nodeagent {
namespace {

bool Capset(__user_cap_data_struct (&sets)[2]) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  return ::syscall(SYS_capset, &header, sets) == 0;
}

// To join a namespace takes CAP_SYS_ADMIN over it, and gives all capabilities there.
void Join(const UniqueFd& user_namespace) {
  constexpr unsigned kAdmin = 1U << CAP_SYS_ADMIN;
  __user_cap_data_struct sets[2] = {{kAdmin, kAdmin, 0}, {0, 0, 0}};
  if (Capset(sets)) (void)::setns(user_namespace.get(), CLONE_NEWUSER);
}

}  // namespace

UniqueFd OtherUserNamespaceOf(pid_t pid) {
  UniqueFd file(::open(("/proc/" + std::to_string(pid) + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  struct stat own {
  }, other{};
  if (!file || ::fstat(file.get(), &other) != 0 || ::stat("/proc/self/ns/user", &own) != 0) return {};
  return own.st_ino == other.st_ino ? UniqueFd() : std::move(file);
}

Status BecomeUser(uid_t uid, gid_t gid, const std::vector<gid_t>& groups, const UniqueFd& user_namespace) {
  // The id changes first: whoever rules the namespace must never find a process of root's there.
  if (user_namespace && ::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return IoError(errno, "keep the capabilities");
  if (::setgroups(groups.size(), groups.data()) != 0 || ::setresgid(gid, gid, gid) != 0 ||
      ::setresuid(uid, uid, uid) != 0) {
    return IoError(errno, "become user " + std::to_string(uid));
  }
  if (user_namespace) Join(user_namespace);
  __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
  if (uid != 0 && !Capset(none)) return IoError(errno, "give up the capabilities");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return IoError(errno, "set no_new_privs");
  return Status::Ok();
}

}  // namespace glim::nodeagent
