#include "sdk/checkpoint/replica/confinement.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "sdk/net/socket.h"

namespace glim::checkpoint {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::uint32_t kOtherNumbers = 0x40000000;
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "say which system call numbers this machine has"
#endif
constexpr char kRoutes[] = "/proc/net/route";

Status NotConfined(const char* what) {
  return {StatusCode::kUnavailable,
          std::string("this process cannot be confined: ") + what + ": " + net::ErrnoText(errno)};
}

sock_filter Statement(std::uint16_t code, std::uint32_t value) { return BPF_STMT(code, value); }
sock_filter Jump(std::uint16_t code, std::uint32_t value, std::uint8_t yes, std::uint8_t no) {
  return BPF_JUMP(code, value, yes, no);
}

// Rules are tried in their order; each begins with the call's number in the accumulator.
class Filter {
 public:
  // Calls of another architecture end the process: their numbers mean other calls.
  Filter() {
    program_.push_back(Statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
    program_.push_back(Jump(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
    program_.push_back(Statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
    LoadNumber();
#if defined(__x86_64__)
    // So do the second numbers that this one has for its own calls (x32).
    program_.push_back(Jump(BPF_JMP | BPF_JSET | BPF_K, kOtherNumbers, 0, 1));
    program_.push_back(Statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
#endif
  }

  template <typename Calls>
  void Rule(const Calls& calls, std::uint32_t action) {
    for (const long call : calls) {  // NOLINT(google-runtime-int): what syscall() takes
      program_.push_back(Jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1));
      program_.push_back(Statement(BPF_RET | BPF_K, action));
    }
  }
  // `allowed` unless any of `bits` is set in the argument, else EPERM.
  void Without(long call, unsigned argument, std::uint32_t bits) {  // NOLINT(google-runtime-int): likewise
    program_.push_back(Jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4));
    LoadArgument(argument);
    program_.push_back(Jump(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1));
    program_.push_back(Statement(BPF_RET | BPF_K, Denied()));
    program_.push_back(Statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  // Allowed where the argument is one of these, else EPERM.
  template <typename Values>
  void OneOf(long call, unsigned argument, const Values& values) {  // NOLINT(google-runtime-int): likewise
    const auto size = static_cast<std::uint8_t>(2 + 2 * values.size());
    program_.push_back(Jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, size));
    LoadArgument(argument);
    for (const std::uint32_t value : values) {
      program_.push_back(Jump(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
      program_.push_back(Statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    }
    program_.push_back(Statement(BPF_RET | BPF_K, Denied()));
  }

  static constexpr std::uint32_t Denied() { return SECCOMP_RET_ERRNO | EPERM; }

  // For all threads, which may be UCX's.
  Status Install(std::uint32_t otherwise) {
    program_.push_back(Statement(BPF_RET | BPF_K, otherwise));
    const sock_fprog program{static_cast<std::uint16_t>(program_.size()), program_.data()};
    if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0) return Status::Ok();
    return NotConfined("seccomp");
  }

 private:
  void LoadNumber() { program_.push_back(Statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))); }
  // Its lower half: what these calls look at has 32 bits.
  void LoadArgument(unsigned argument) {
    const std::size_t at = offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t);
    program_.push_back(Statement(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at)));
  }

  std::vector<sock_filter> program_;
};

// What neither the service nor UCX has any use for, and others had for breaking out.
constexpr long kForbidden[] = {
    // NOLINT(google-runtime-int): what syscall() takes
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsmount,
    SYS_fsconfig,
    SYS_mount_setattr,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_personality,
    SYS_open_by_handle_at,
    SYS_name_to_handle_at,
    SYS_lookup_dcookie,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_mbind,
    SYS_fanotify_init,
    SYS_syslog,
    SYS_vhangup,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_setfsuid,
    SYS_setfsgid,
    SYS_memfd_secret,
};

// clone()'s flags for new namespaces, in which a process would be root again.
constexpr std::uint32_t kNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// Of a transfer process that has its devices.
constexpr long kNeeded[] = {
    // NOLINT(google-runtime-int): likewise
    SYS_read,
    SYS_readv,
    SYS_pread64,
    SYS_write,
    SYS_writev,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_lseek,
    SYS_dup,
    SYS_fcntl,
    SYS_ioctl,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_mlock,
    SYS_munlock,
    SYS_futex,
    SYS_membarrier,
    SYS_connect,
    SYS_accept,
    SYS_accept4,
    SYS_sendto,
    SYS_recvfrom,
    SYS_sendmsg,
    SYS_recvmsg,
    SYS_shutdown,
    SYS_getsockname,
    SYS_getpeername,
    SYS_setsockopt,
    SYS_getsockopt,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_eventfd2,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_ppoll,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getrandom,
    SYS_getrlimit,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    SYS_uname,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_exit,
    SYS_exit_group,
#if defined(__x86_64__)
    SYS_poll,
    SYS_epoll_wait,
    SYS_epoll_create,
#endif
};

// The descriptor of the open table: for the handler, which cannot be told otherwise. Written once, before there is one.
int& Routes() {
  static int descriptor = -1;
  return descriptor;
}

// openat() has not happened: whoever asked for the routes gets them, and everybody else EPERM. Calls nothing that
// a handler may not.
void OnTrappedCall(int, siginfo_t* info, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  auto& result = registers.gregs[REG_RAX];
  const auto path = reinterpret_cast<const char*>(registers.gregs[REG_RSI]);
#else
  auto& result = registers.regs[0];
  const auto path = reinterpret_cast<const char*>(registers.regs[1]);
#endif
  const int before = errno;
  int opened = -1;
  if (info->si_syscall == SYS_openat && Routes() >= 0 && std::strcmp(path, kRoutes) == 0) {
    (void)::lseek(Routes(), 0, SEEK_SET);
    opened = ::dup(Routes());
  }
  result = static_cast<std::remove_reference_t<decltype(result)>>(opened >= 0 ? opened : -EPERM);
  errno = before;
}

Status ServeRoutes() {
  Routes() = ::open(kRoutes, O_RDONLY | O_CLOEXEC);
  struct sigaction action {};
  action.sa_sigaction = OnTrappedCall;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  return ::sigaction(SIGSYS, &action, nullptr) == 0 ? Status::Ok() : NotConfined("SIGSYS");
}

Status DropCapabilities() {
  // Without CAP_SETPCAP nothing can be gained from the bounding set, either: no new privileges.
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    (void)::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) == 0) return Status::Ok();
  // A filter of the unit's may refuse the call where there is nothing left to give up.
  std::array<__user_cap_data_struct, 2> left{};
  const bool has_none = ::syscall(SYS_capget, &header, left.data()) == 0 && left[0].permitted == 0 &&
                        left[1].permitted == 0 && left[0].inheritable == 0 && left[1].inheritable == 0;
  return has_none ? Status::Ok() : NotConfined("capset");
}

}  // namespace

Status ConfineService() {
  const rlimit no_dump{0, 0};
  if (::setrlimit(RLIMIT_CORE, &no_dump) != 0) return NotConfined("RLIMIT_CORE");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return NotConfined("PR_SET_DUMPABLE");
  if (Status dropped = DropCapabilities(); !dropped.ok()) return dropped;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return NotConfined("PR_SET_NO_NEW_PRIVS");
  Filter filter;
  filter.Rule(kForbidden, Filter::Denied());
  // Its flags lie where no filter sees them; the C library takes clone() where there is none.
  filter.Rule(std::array{SYS_clone3}, SECCOMP_RET_ERRNO | ENOSYS);
  filter.Without(SYS_clone, 0, kNamespaces);
  return filter.Install(SECCOMP_RET_ALLOW);
}

Status ConfineTransfer(Files files) {
  if (files == Files::kNone) {
    if (Status status = ServeRoutes(); !status.ok()) return status;
  }
  Filter filter;
  filter.Rule(kNeeded, SECCOMP_RET_ALLOW);
  for (const long call : {SYS_mmap, SYS_mprotect}) filter.Without(call, 2, PROT_EXEC);  // NOLINT(google-runtime-int)
  filter.OneOf(SYS_socket, 0, std::array<std::uint32_t, 3>{AF_INET, AF_INET6, AF_NETLINK});
  if (files == Files::kThose) {
    filter.Without(SYS_openat, 2, O_CREAT | O_TRUNC);
    filter.Rule(std::array{SYS_readlinkat, SYS_getdents64}, SECCOMP_RET_ALLOW);
  } else {
    filter.Rule(std::array{SYS_openat}, SECCOMP_RET_TRAP);
  }
  return filter.Install(Filter::Denied());
}

}  // namespace glim::checkpoint
