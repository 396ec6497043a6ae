#include "nodeagent/os/file_user.h"

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "sdk/base/check.h"

namespace glim::nodeagent {
namespace {

constexpr uid_t kNobody = static_cast<uid_t>(-1);  // as gid, too

// The kernel has taken it with root's uid, and gives it back with that.
void TakeBackOverride() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return;
  data[CAP_TO_INDEX(CAP_DAC_OVERRIDE)].effective |= CAP_TO_MASK(CAP_DAC_OVERRIDE);
  (void)::syscall(SYS_capset, &header, data);
}

std::vector<gid_t> GroupsOfThread() {
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(0, ::getgroups(0, nullptr))));
  if (::getgroups(static_cast<int>(groups.size()), groups.data()) < 0) groups.clear();
  return groups;
}

// Of this thread alone; the C library's call changes all threads. Going on as root, or with root's groups, would give
// users what is root's: setfsuid() says nothing of a failure, but with a number that is none it says who it is.
void Become(uid_t uid, gid_t gid, const std::vector<gid_t>& groups) {
  const bool has_groups = ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
  ::setfsgid(gid);
  ::setfsuid(uid);
  const bool is_both = static_cast<uid_t>(::setfsuid(kNobody)) == uid && static_cast<gid_t>(::setfsgid(kNobody)) == gid;
  GLIM_CHECK((has_groups && is_both) || ::geteuid() != 0, "files cannot be used as uid " + std::to_string(uid));
}

}  // namespace

FileUser::FileUser(uid_t uid, gid_t gid, const std::vector<gid_t>& groups, May may) : own_groups_(GroupsOfThread()) {
  Become(uid, gid, groups);
  if (may == May::kPassEverywhere && uid != ::geteuid()) TakeBackOverride();
}

FileUser::~FileUser() { Become(::geteuid(), ::getegid(), own_groups_); }

}  // namespace glim::nodeagent
