// What a transfer process can still do, and what it cannot: each tried in a child, for there is no way back.
#include "sdk/checkpoint/replica/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "sdk/io/read_file.h"

namespace glim::checkpoint {
namespace {

// Runs it confined; the child's exit code: 0 where `attempt` says true.
int Try(Files files, const std::function<bool()>& attempt) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!ConfineService().ok() || !ConfineTransfer(files).ok()) ::_exit(2);
    ::_exit(attempt() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

bool IsDenied(std::int64_t result) { return result == -1 && errno == EPERM; }

TEST(Confinement, ATransferProcessHasNoWayToOthers) {
  const pid_t other = ::getpid();
  static char memory[4096];
  const std::pair<const char*, std::function<std::int64_t()>> attempts[] = {
      {"open a file", [] { return ::open("/etc/passwd", O_RDONLY); }},
      {"make a file", [] { return ::open("/tmp/glim-never", O_WRONLY | O_CREAT, 0600); }},
      {"run a program", [] { return ::execl("/bin/true", "true", nullptr); }},
      {"fork", [] { return static_cast<std::int64_t>(::fork()); }},
      {"signal", [other] { return ::kill(other, 0); }},
      {"trace", [other] { return ::ptrace(PTRACE_ATTACH, other, nullptr, nullptr); }},
      {"read memory",
       [other] {
         iovec here{memory, 8}, there{memory, 8};
         return static_cast<std::int64_t>(::process_vm_readv(other, &here, 1, &there, 1, 0));
       }},
      {"write memory",
       [other] {
         iovec here{memory, 8}, there{memory, 8};
         return static_cast<std::int64_t>(::process_vm_writev(other, &here, 1, &there, 1, 0));
       }},
      {"take a descriptor", [other] { return ::syscall(SYS_pidfd_open, other, 0); }},
      {"speak to this machine's daemons", [] { return ::socket(AF_UNIX, SOCK_STREAM, 0); }},
      {"listen", [] { return ::listen(0, 1); }},
      {"make code", [] { return ::mprotect(memory, 0, PROT_READ | PROT_EXEC); }},
      {"be looked into", [] { return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); }},
      {"become another", [] { return ::setuid(1); }},
      {"mount", [] { return ::syscall(SYS_mount, "a", "/", "tmpfs", 0, nullptr); }},
      {"use io_uring", [] { return ::syscall(SYS_io_uring_setup, 1, memory); }},
  };
  for (const auto& [what, attempt] : attempts) {
    EXPECT_EQ(Try(Files::kNone, [&attempt = attempt] { return IsDenied(attempt()); }), 0) << what;
  }
}

TEST(Confinement, ItHasWhatUcxNeeds) {
  EXPECT_EQ(Try(Files::kNone, [] { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; }), 0);
  EXPECT_EQ(Try(Files::kNone,
                [] {
                  return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
                         MAP_FAILED;
                }),
            0);
  // As often as it is asked for, and from its beginning.
  EXPECT_EQ(Try(Files::kNone,
                [] {
                  const auto first = ReadFile("/proc/net/route", 1 << 20),
                             second = ReadFile("/proc/net/route", 1 << 20);
                  return first.ok() && second.ok() && first->starts_with("Iface") && *first == *second;
                }),
            0);
  EXPECT_EQ(Try(Files::kThose, [] { return ::open("/etc/passwd", O_RDONLY) >= 0; }), 0);
  EXPECT_EQ(Try(Files::kThose, [] { return IsDenied(::open("/tmp/glim-never", O_WRONLY | O_CREAT, 0600)); }), 0);
  EXPECT_EQ(Try(Files::kThose, [] { return IsDenied(::execl("/bin/true", "true", nullptr)); }), 0);
}

// How a child of a confined service's ends: its exit code, or 1000 and the signal.
int TryInService(const std::function<bool()>& attempt) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!ConfineService().ok()) ::_exit(2);
    ::_exit(attempt() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// In namespaces of its own a process has all the capabilities that the service gave up.
TEST(Confinement, TheServiceMakesThreadsAndProcessesAndNoNamespaces) {
  for (const int flag : {CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWNS | CLONE_NEWUSER}) {
    EXPECT_EQ(TryInService([flag] {
                const std::int64_t pid = ::syscall(SYS_clone, flag | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
                if (pid == 0) ::_exit(0);
                return IsDenied(pid);
              }),
              0)
        << flag;
  }
  EXPECT_EQ(TryInService([] {
              std::uint64_t wanted[8] = {CLONE_NEWUSER, 0, 0, 0, SIGCHLD};
              const std::int64_t pid = ::syscall(SYS_clone3, wanted, sizeof wanted);
              if (pid == 0) ::_exit(0);
              return pid == -1 && errno == ENOSYS;
            }),
            0);
  EXPECT_EQ(TryInService([] {
              bool ran = false;
              std::thread([&ran] { ran = true; }).join();
              return ran && std::system("true") == 0;
            }),
            0);
}

#if defined(__x86_64__)
TEST(Confinement, TheSecondNumbersOfCallsEndTheProcess) {
  EXPECT_EQ(TryInService([] { return ::syscall(0x40000000 + SYS_ptrace, PTRACE_TRACEME, 0, 0, 0) >= 0; }),
            1000 + SIGSYS);
  EXPECT_EQ(Try(Files::kNone, [] { return ::syscall(0x40000000 + SYS_getpid) >= 0; }), 1000 + SIGSYS);
}
#endif

TEST(Confinement, TheServiceStartsItsOwnProgramAndHasNoPrivileges) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!ConfineService().ok()) ::_exit(2);
    const std::string script =
        "grep -Eq '^CapEff:\\s0+$' /proc/self/status && grep -Eq '^CapBnd:\\s0+$|^Uid:\\s[1-9]' /proc/self/status &&"
        " grep -Eq '^NoNewPrivs:\\s1' /proc/self/status && grep -Eq '^Seccomp:\\s2' /proc/self/status &&"
        " [ $(ulimit -c) = 0 ]";
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

}  // namespace
}  // namespace glim::checkpoint
