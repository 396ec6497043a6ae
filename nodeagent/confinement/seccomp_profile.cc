#include "nodeagent/confinement/seccomp_profile.h"

#include <linux/sched.h>

#include <nlohmann/json.hpp>

namespace glim::nodeagent {
namespace {

using nlohmann::json;

constexpr int kNotPermitted = 1;     // EPERM
constexpr int kNotImplemented = 38;  // ENOSYS

json Refused(const json& names, int error) {
  return {{"names", names}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", error}};
}

// clone(flags, ...) with this flag set. The rules of one profile can only say "equal under a mask": one rule a flag.
json RefusedClone(std::uint64_t flag) {
  json rule = Refused({"clone"}, kNotPermitted);
  rule["args"] = {{{"index", 0}, {"value", flag}, {"valueTwo", flag}, {"op", "SCMP_CMP_MASKED_EQ"}}};
  return rule;
}

}  // namespace

json SeccompProfile() {
  const json beyond = {
      // the file system's shape
      "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsmount", "fsconfig",
      "fspick", "mount_setattr", "name_to_handle_at", "open_by_handle_at", "quotactl", "quotactl_fd", "swapon",
      "swapoff",
      // the kernel
      "init_module", "finit_module", "delete_module", "create_module", "query_module", "get_kernel_syms", "kexec_load",
      "kexec_file_load", "bpf", "perf_event_open", "reboot", "acct", "syslog", "lookup_dcookie", "nfsservctl",
      "_sysctl", "sysfs", "uselib", "ustat", "vm86", "vm86old", "iopl", "ioperm", "userfaultfd",
      // clocks and names
      "settimeofday", "stime", "clock_settime", "clock_settime64", "adjtimex", "clock_adjtime", "clock_adjtime64",
      "sethostname", "setdomainname", "vhangup",
      // keys and namespaces
      "add_key", "request_key", "keyctl", "setns", "unshare"};
  json rules = json::array({Refused(beyond, kNotPermitted)});
  for (const std::uint64_t flag :
       {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET}) {
    rules.push_back(RefusedClone(flag));
  }
  // Its flags lie in memory, where no rule sees them. Told that there is no such call, libc takes clone instead.
  rules.push_back(Refused({"clone3"}, kNotImplemented));
  return {{"defaultAction", "SCMP_ACT_ALLOW"},
          {"architectures", {"SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32", "SCMP_ARCH_AARCH64"}},
          {"syscalls", rules}};
}

}  // namespace glim::nodeagent
