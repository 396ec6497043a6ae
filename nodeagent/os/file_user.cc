#include "nodeagent/os/file_user.h"

#include <linux/capability.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace glim::nodeagent {
namespace {

// The kernel has taken it with root's uid, and gives it back with that.
void TakeBackOverride() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return;
  data[CAP_TO_INDEX(CAP_DAC_OVERRIDE)].effective |= CAP_TO_MASK(CAP_DAC_OVERRIDE);
  (void)::syscall(SYS_capset, &header, data);
}

}  // namespace

FileUser::FileUser(uid_t uid, gid_t gid, May may) {
  ::setfsgid(gid);
  ::setfsuid(uid);
  if (may == May::kPassEverywhere && uid != ::geteuid()) TakeBackOverride();
}

FileUser::~FileUser() {
  ::setfsuid(::geteuid());
  ::setfsgid(::getegid());
}

}  // namespace glim::nodeagent
