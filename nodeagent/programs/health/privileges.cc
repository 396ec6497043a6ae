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

Status DropCapabilities(std::uint64_t keep) {
  for (unsigned capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    const bool kept = capability < 64 && (keep >> capability & 1) != 0;
    if (!kept && ::prctl(PR_CAPBSET_DROP, capability) != 0 && errno != EPERM) {
      return IoError(errno, "drop a capability");
    }
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (::syscall(SYS_capget, &header, sets) != 0) return IoError(errno, "read the capabilities");
  for (auto& set : sets) {
    const std::uint32_t left = set.permitted & static_cast<std::uint32_t>(keep);
    set = {left, left, 0};
    keep >>= 32;
  }
  if (::syscall(SYS_capset, &header, sets) != 0) return IoError(errno, "give up the capabilities");
  return Status::Ok();
}

}  // namespace

Status LeavePrivileges(std::initializer_list<unsigned> keep) {
  std::uint64_t bits = 0;
  for (const unsigned capability : keep) bits |= std::uint64_t{1} << capability;
  (void)::setpriority(PRIO_PROCESS, 0, kNice);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return IoError(errno, "set no_new_privs");
  if (Status status = DropCapabilities(bits); !status.ok()) return status;
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return IoError(errno, "set the parent's death signal");
  return Status::Ok();
}

}  // namespace glim::nodeagent::health
