#include "sdk/checkpoint/testing/stepped_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "sdk/base/check.h"

namespace glim::checkpoint {
namespace {

constexpr int kNone = -1;

struct KnownCall {
  long number;
  const char* name;
  int fd_argument;    // of the folder or the file
  int path_argument;  // kNone: the call is about the descriptor alone
  bool is_write = false;
};

constexpr std::array kKnownCalls = {
    KnownCall{SYS_openat, "openat", 0, 1},
    KnownCall{SYS_openat2, "openat2", 0, 1},
    KnownCall{SYS_open, "open", kNone, 0},
    KnownCall{SYS_mkdir, "mkdir", kNone, 0},
    KnownCall{SYS_mkdirat, "mkdirat", 0, 1},
    KnownCall{SYS_unlinkat, "unlinkat", 0, 1},
    KnownCall{SYS_renameat, "renameat", 2, 3},
    KnownCall{SYS_renameat2, "renameat2", 2, 3},
    KnownCall{SYS_linkat, "linkat", 2, 3},
    KnownCall{SYS_symlinkat, "symlinkat", 1, 2},
    KnownCall{SYS_newfstatat, "newfstatat", 0, 1},
    KnownCall{SYS_fstat, "fstat", 0, kNone},
    KnownCall{SYS_statx, "statx", 0, 1},
    KnownCall{SYS_getdents64, "getdents64", 0, kNone},
    KnownCall{SYS_read, "read", 0, kNone},
    KnownCall{SYS_pread64, "pread64", 0, kNone},
    KnownCall{SYS_write, "write", 0, kNone, true},
    KnownCall{SYS_pwrite64, "pwrite64", 0, kNone, true},
    KnownCall{SYS_fsync, "fsync", 0, kNone},
    KnownCall{SYS_fdatasync, "fdatasync", 0, kNone},
    KnownCall{SYS_ftruncate, "ftruncate", 0, kNone},
    KnownCall{SYS_fallocate, "fallocate", 0, kNone},
    KnownCall{SYS_io_uring_enter, "io_uring_enter", 0, kNone},
};

std::array<std::uint64_t, 6> ArgumentsOf(const user_regs_struct& registers) {
  return {registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9};
}

user_regs_struct RegistersOf(pid_t pid) {
  user_regs_struct registers{};
  GLIM_CHECK(::ptrace(PTRACE_GETREGS, pid, nullptr, &registers) == 0, std::strerror(errno));
  return registers;
}

void SetRegisters(pid_t pid, user_regs_struct registers) {
  GLIM_CHECK(::ptrace(PTRACE_SETREGS, pid, nullptr, &registers) == 0, std::strerror(errno));
}

std::string TextAt(pid_t pid, std::uint64_t address) {
  std::string text;
  while (text.size() < 4096) {
    errno = 0;
    const long word = ::ptrace(PTRACE_PEEKDATA, pid, address + text.size(), nullptr);
    if (errno != 0) return text;
    std::array<char, sizeof word> bytes;
    std::memcpy(bytes.data(), &word, sizeof word);
    const auto end = std::find(bytes.begin(), bytes.end(), '\0');
    text.append(bytes.begin(), end);
    if (end != bytes.end()) return text;
  }
  return text;
}

std::string PathOfDescriptor(pid_t pid, int fd) {
  const std::string link =
      "/proc/" + std::to_string(pid) + (fd == AT_FDCWD ? std::string("/cwd") : "/fd/" + std::to_string(fd));
  std::array<char, 4096> path;
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "";
}

std::optional<FileCall> Describe(pid_t pid, const user_regs_struct& registers) {
  const auto known = std::find_if(kKnownCalls.begin(), kKnownCalls.end(), [&](const KnownCall& candidate) {
    return candidate.number == static_cast<long>(registers.orig_rax);
  });
  if (known == kKnownCalls.end()) return {};
  const auto arguments = ArgumentsOf(registers);
  FileCall call{known->name, "", known->is_write};
  if (known->path_argument != kNone) call.path = TextAt(pid, arguments[static_cast<std::size_t>(known->path_argument)]);
  if (!call.path.starts_with('/') && known->fd_argument != kNone) {
    const int fd = static_cast<int>(arguments[static_cast<std::size_t>(known->fd_argument)]);
    const std::string folder = PathOfDescriptor(pid, fd);
    call.path = call.path.empty() ? folder : folder + "/" + call.path;
  }
  return call;
}

}  // namespace

SteppedProcess::SteppedProcess(const std::function<int()>& body) {
  pid_ = ::fork();
  GLIM_CHECK(pid_ >= 0, std::strerror(errno));
  if (pid_ == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(127);
    ::raise(SIGSTOP);
    ::_exit(body());
  }
  int status = 0;
  GLIM_CHECK(::waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status), "the process cannot be traced");
  constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
  GLIM_CHECK(::ptrace(PTRACE_SETOPTIONS, pid_, nullptr, kOptions) == 0, std::strerror(errno));
  RunToCall();
}

SteppedProcess::~SteppedProcess() { Kill(); }

bool SteppedProcess::Resume() {
  int signal = 0;
  while (true) {
    GLIM_CHECK(::ptrace(PTRACE_SYSCALL, pid_, nullptr, signal) == 0, std::strerror(errno));
    int status = 0;
    GLIM_CHECK(::waitpid(pid_, &status, 0) == pid_, std::strerror(errno));
    if (WIFSTOPPED(status)) {
      if (WSTOPSIG(status) == (SIGTRAP | 0x80)) return true;
      signal = WSTOPSIG(status);
      continue;
    }
    SetEnded(status);
    return false;
  }
}

void SteppedProcess::SetEnded(int status) {
  exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  pid_ = -1;
  call_.reset();
}

void SteppedProcess::RunToCall() {
  while (Resume()) {
    call_ = Describe(pid_, RegistersOf(pid_));
    if (call_) return;
    if (!Resume()) return;
  }
}

void SteppedProcess::FinishCall() {
  if (Resume()) RunToCall();
}

void SteppedProcess::Step() {
  GLIM_CHECK(call_.has_value(), "the process has ended");
  FinishCall();
}

void SteppedProcess::StepFailing(int error) {
  GLIM_CHECK(call_.has_value(), "the process has ended");
  user_regs_struct registers = RegistersOf(pid_);
  registers.orig_rax = static_cast<unsigned long long>(-1);  // no such call: the kernel makes none
  SetRegisters(pid_, registers);
  GLIM_CHECK(Resume(), "the process ended in a call");
  registers = RegistersOf(pid_);
  registers.rax = static_cast<unsigned long long>(-error);
  SetRegisters(pid_, registers);
  RunToCall();
}

void SteppedProcess::StepShort() {
  GLIM_CHECK(call_.has_value(), "the process has ended");
  if (call_->is_write) {
    user_regs_struct registers = RegistersOf(pid_);
    registers.rdx = std::max<unsigned long long>(registers.rdx / 2, 1);
    SetRegisters(pid_, registers);
  }
  FinishCall();
}

void SteppedProcess::Kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  SetEnded(status);
}

int SteppedProcess::RunToEnd() {
  if (pid_ < 0) return exit_status_;
  GLIM_CHECK(::ptrace(PTRACE_DETACH, pid_, nullptr, 0) == 0, std::strerror(errno));
  int status = 0;
  GLIM_CHECK(::waitpid(pid_, &status, 0) == pid_, std::strerror(errno));
  SetEnded(status);
  return exit_status_;
}

std::vector<FileCall> FileCallsOf(const std::function<int()>& body, int* exit_status) {
  std::vector<FileCall> calls;
  SteppedProcess process(body);
  while (process.call()) {
    calls.push_back(*process.call());
    process.Step();
  }
  if (exit_status != nullptr) *exit_status = process.RunToEnd();
  return calls;
}

}  // namespace glim::checkpoint
