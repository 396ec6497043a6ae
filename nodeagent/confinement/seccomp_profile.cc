#include "nodeagent/confinement/seccomp_profile.h"

#include <linux/sched.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

namespace glim::nodeagent {
namespace {

using nlohmann::json;

constexpr int kNotPermitted = 1;     // EPERM
constexpr int kNotImplemented = 38;  // ENOSYS
constexpr int kNoSuchFamily = 97;    // EAFNOSUPPORT

#if defined(__aarch64__)
constexpr const char* kArchitecture = "SCMP_ARCH_AARCH64";
#else
constexpr const char* kArchitecture = "SCMP_ARCH_X86_64";
#endif

// The kernel reads 32 bits of these arguments, a filter sees all 64: what is above must not make another value of it.
constexpr std::uint64_t kLow32 = 0xffffffff;

constexpr std::uint64_t kNamespaceFlags = std::uint64_t{CLONE_NEWNS} | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                          CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// The base: what the default profile of Moby (profiles/seccomp/default.json), and so of Docker and containerd, allows
// a container without capabilities. Names that an architecture lacks are left out by the runtime.
json UsualCalls() {
  return {
      // files
      "access", "chdir", "chmod", "chown", "close", "close_range", "copy_file_range", "creat", "dup", "dup2", "dup3",
      "faccessat", "faccessat2", "fadvise64", "fallocate", "fanotify_mark", "fchdir", "fchmod", "fchmodat", "fchmodat2",
      "fchown", "fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr",
      "fstat", "fstatfs", "fsync", "ftruncate", "futimesat", "getcwd", "getdents", "getdents64", "getxattr",
      "getxattrat", "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "lchown", "lgetxattr",
      "link", "linkat", "listxattr", "listxattrat", "llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat",
      "mkdir", "mkdirat", "mknod", "mknodat", "newfstatat", "open", "openat", "openat2", "pread64", "preadv", "preadv2",
      "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat", "readv", "removexattr",
      "removexattrat", "rename", "renameat", "renameat2", "rmdir", "sendfile", "setxattr", "setxattrat", "splice",
      "stat", "statfs", "statx", "symlink", "symlinkat", "sync", "sync_file_range", "sync_file_range2", "syncfs", "tee",
      "truncate", "umask", "unlink", "unlinkat", "utime", "utimensat", "utimes", "vmsplice", "write", "writev",
      "cachestat", "name_to_handle_at",
      // waiting
      "epoll_create", "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait", "epoll_pwait2", "epoll_wait",
      "epoll_wait_old", "eventfd", "eventfd2", "io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup",
      "io_submit", "pause", "poll", "ppoll", "pselect6", "select", "signalfd", "signalfd4",
      // sockets, pipes, queues, shared memory
      "accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "memfd_create",
      "memfd_secret", "mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl",
      "msgget", "msgrcv", "msgsnd", "pipe", "pipe2", "recvfrom", "recvmmsg", "recvmsg", "semctl", "semget", "semop",
      "semtimedop", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shmat", "shmctl", "shmdt", "shmget", "shutdown",
      // memory
      "brk", "madvise", "map_shadow_stack", "membarrier", "mincore", "mlock", "mlock2", "mlockall", "mmap", "mprotect",
      "mremap", "mseal", "msync", "munlock", "munlockall", "munmap", "pkey_alloc", "pkey_free", "pkey_mprotect",
      "remap_file_pages",
      // processes and threads
      "arch_prctl", "capget", "capset", "execve", "execveat", "exit", "exit_group", "fork", "futex", "futex_requeue",
      "futex_wait", "futex_waitv", "futex_wake", "get_robust_list", "get_thread_area", "getcpu", "getegid", "geteuid",
      "getgid", "getgroups", "getitimer", "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getresgid",
      "getresuid", "getrlimit", "getrusage", "getsid", "gettid", "getuid", "ioprio_get", "ioprio_set", "kill",
      "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "modify_ldt", "pidfd_open",
      "pidfd_send_signal", "prctl", "prlimit64", "process_mrelease", "process_vm_readv", "process_vm_writev", "ptrace",
      "restart_syscall", "rseq", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn",
      "rt_sigsuspend", "rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min",
      "sched_getaffinity", "sched_getattr", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval",
      "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield", "seccomp",
      "set_robust_list", "set_thread_area", "set_tid_address", "setfsgid", "setfsuid", "setgid", "setgroups",
      "setitimer", "setpgid", "setpriority", "setregid", "setresgid", "setresuid", "setreuid", "setrlimit", "setsid",
      "setuid", "sigaltstack", "tgkill", "tkill", "vfork", "wait4", "waitid",
      // time, the machine
      "adjtimex", "alarm", "clock_adjtime", "clock_getres", "clock_gettime", "clock_nanosleep", "getrandom",
      "gettimeofday", "nanosleep", "sysinfo", "time", "timer_create", "timer_delete", "timer_getoverrun",
      "timer_gettime", "timer_settime", "timerfd_create", "timerfd_gettime", "timerfd_settime", "times", "uname"};
}

// Beside them: where memory lies on machines with several sockets (data loaders, NCCL, UCX), and how processes of one
// user hand each other memory (torch takes descriptors by pidfd_getfd). The kernel asks for the right to trace for
// that: the same user, and not glim-init.
json TrainingCalls() { return {"get_mempolicy", "mbind", "pidfd_getfd", "set_mempolicy", "set_mempolicy_home_node"}; }

json RefusedCalls() {
  return {// the file system's shape
          "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr", "fsopen", "fsmount",
          "fsconfig", "fspick", "mount_setattr", "statmount", "listmount", "open_by_handle_at", "quotactl",
          "quotactl_fd", "swapon", "swapoff", "fanotify_init",
          // the kernel
          "init_module", "finit_module", "delete_module", "create_module", "query_module", "get_kernel_syms",
          "kexec_load", "kexec_file_load", "bpf", "perf_event_open", "reboot", "acct", "syslog", "lookup_dcookie",
          "nfsservctl", "_sysctl", "sysfs", "uselib", "ustat", "iopl", "ioperm", "userfaultfd", "kcmp",
          "process_madvise", "migrate_pages", "lsm_set_self_attr",
          // clocks and names
          "settimeofday", "clock_settime", "sethostname", "setdomainname", "vhangup",
          // keys and namespaces
          "add_key", "request_key", "keyctl", "setns", "unshare"};
}

json IoUringCalls() { return {"io_uring_setup", "io_uring_enter", "io_uring_register"}; }

json Allowed(const json& names) { return {{"names", names}, {"action", "SCMP_ACT_ALLOW"}}; }
json Refused(const json& names, int error) {
  return {{"names", names}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", error}};
}

json If(json rule, std::uint32_t argument, const char* op, std::uint64_t value, std::uint64_t value_two = 0) {
  rule["args"] = {{{"index", argument}, {"value", value}, {"valueTwo", value_two}, {"op", op}}};
  return rule;
}
// The argument's bits of `mask` are those of `value`.
json IfBits(json rule, std::uint32_t argument, std::uint64_t mask, std::uint64_t value) {
  return If(std::move(rule), argument, "SCMP_CMP_MASKED_EQ", mask, value);
}

// Rules of one call may not overlap: which of them counts is no runtime's promise. So "all 32-bit values but these" is
// a rule for each subtree of the values without one of them, from the highest bit down.
void AllowAllBut(const char* call, std::uint32_t argument, const std::vector<std::uint32_t>& refused, json* rules,
                 int bit = 31, std::uint64_t prefix = 0) {
  if (bit < 0) return;
  for (const std::uint64_t value : {prefix, prefix | (std::uint64_t{1} << bit)}) {
    const std::uint64_t mask = kLow32 & ~((std::uint64_t{1} << bit) - 1);
    const bool holds_one =
        std::any_of(refused.begin(), refused.end(), [&](std::uint32_t r) { return (r & mask) == value; });
    if (holds_one) {
      AllowAllBut(call, argument, refused, rules, bit - 1, value);
    } else {
      rules->push_back(IfBits(Allowed({call}), argument, mask, value));
    }
  }
}

// Local, IP, netlink, and what makes RDMA of TCP. Of the others those that a kernel is likely to have are refused as
// one does that has them not; each rule costs a start.
void AddSockets(bool vsock, json* rules) {
  std::vector<int> allowed = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_SMC};
  std::vector<int> refused = {AF_PACKET, AF_RDS, AF_CAN, AF_TIPC, AF_BLUETOOTH, AF_ALG, AF_XDP};
  (vsock ? allowed : refused).push_back(AF_VSOCK);
  for (const int family : allowed) {
    rules->push_back(IfBits(Allowed({"socket"}), 0, kLow32, static_cast<std::uint64_t>(family)));
  }
  for (const int family : refused) {
    rules->push_back(IfBits(Refused({"socket"}, kNoSuchFamily), 0, kLow32, static_cast<std::uint64_t>(family)));
  }
  rules->push_back(IfBits(Allowed({"socketpair"}), 0, kLow32, AF_UNIX));
}

void AddClone(json* rules) {
  rules->push_back(IfBits(Allowed({"clone"}), 0, kNamespaceFlags, 0));
  for (std::uint64_t flag = 1; flag <= kNamespaceFlags; flag <<= 1) {
    if ((kNamespaceFlags & flag) == 0) continue;
    // Each with those below it unset, so that no two rules fit one call.
    const std::uint64_t mask = kNamespaceFlags & ((flag << 1) - 1);
    rules->push_back(IfBits(Refused({"clone"}, kNotPermitted), 0, mask, flag));
  }
  // Its flags lie in memory, where no rule sees them. Told that there is no such call, libc takes clone instead.
  rules->push_back(Refused({"clone3"}, kNotImplemented));
}

// What is usual, and to ask; without the kernel's random addresses debuggers and sanitizers run again as they did.
void AddPersonality(json* rules) {
  constexpr std::array<std::uint64_t, 6> kUsual = {
      PER_LINUX, PER_LINUX32, UNAME26, std::uint64_t{PER_LINUX32} | UNAME26, ADDR_NO_RANDOMIZE, kLow32};
  for (const std::uint64_t value : kUsual) {
    rules->push_back(If(Allowed({"personality"}), 0, "SCMP_CMP_EQ", value));
  }
}

}  // namespace

json SeccompProfile(const SeccompChoices& choices) {
  json rules = json::array({Allowed(UsualCalls()), Allowed(TrainingCalls()), Refused(RefusedCalls(), kNotPermitted)});
  rules.push_back(choices.io_uring ? Allowed(IoUringCalls()) : Refused(IoUringCalls(), kNotPermitted));
  AddSockets(choices.vsock, &rules);
  AddClone(&rules);
  AddPersonality(&rules);
  // Its own pages alone: process 0 is the caller.
  rules.push_back(If(Allowed({"move_pages"}), 0, "SCMP_CMP_EQ", 0));
  rules.push_back(If(Refused({"move_pages"}, kNotPermitted), 0, "SCMP_CMP_NE", 0));
  // They write into a terminal as if its user had typed it.
  const std::vector<std::uint32_t> typing = {TIOCSTI, TIOCLINUX};
  AllowAllBut("ioctl", 1, typing, &rules);
  for (const std::uint32_t request : typing) {
    rules.push_back(IfBits(Refused({"ioctl"}, kNotPermitted), 1, kLow32, request));
  }
  return {{"defaultAction", "SCMP_ACT_ERRNO"},
          {"defaultErrnoRet", kNotImplemented},
          {"architectures", {kArchitecture}},
          {"syscalls", rules}};
}

}  // namespace glim::nodeagent
