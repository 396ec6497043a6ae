#include "nodeagent/programs/health/privileges.h"

#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "sdk/io/io_error.h"

namespace glim::nodeagent::health {
namespace {

constexpr int kNice = 5;

Status DropCapabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (capability != CAP_SYSLOG && ::prctl(PR_CAPBSET_DROP, capability) != 0 && errno != EPERM) {
      return IoError(errno, "drop a capability");
    }
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return IoError(errno, "read the capabilities");
  const std::uint32_t keep = std::uint32_t{1} << (CAP_SYSLOG - 32);
  const std::uint32_t left = sets[1].permitted & keep;
  sets[0] = {};
  sets[1] = {left, left, 0};
  if (::syscall(SYS_capset, &header, sets) != 0) return IoError(errno, "give up the capabilities");
  return Status::Ok();
}

}  // namespace

Status LeavePrivileges() {
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return IoError(errno, "set no_new_privs");
  if (Status status = DropCapabilities(); !status.ok()) return status;
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return IoError(errno, "set the parent's death signal");
  return Status::Ok();
}

}  // namespace glim::nodeagent::health
