#include "nodeagent/os/spawn_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

constexpr int kDescriptorsMax = 1024;  // looked through where the kernel has no close_range (Linux 5.11)
constexpr int kNotStarted = 127;
constexpr std::size_t kPlacesMax = 1024;  // CPUs, and NUMA nodes; CPU_SETSIZE
constexpr std::size_t kWordBits = 8 * sizeof(unsigned long);

// All that the child needs, made before it is there: it may not allocate.
struct Child {
  const char* program = nullptr;
  char** arguments = nullptr;
  char** environment = nullptr;
  const char* folder = nullptr;  // null: none
  int join = -1;                 // the group's cgroup.procs, where it has to move by itself
  int report = -1;               // where it says why it could not start
  int begin = -1, hold = -1;     // it begins when it hears something there; the end that is not its own; -1: at once
  int first_free = 0;
  std::vector<std::pair<int, int>> fds;
  cpu_set_t cpus{};
  bool has_cpus = false;
  unsigned long memory[kPlacesMax / kWordBits] = {};
  bool has_memory = false;
};

void CloseOnExecFrom(int first) {
  if (::syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = first; fd < kDescriptorsMax; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

bool HearsToBegin(const Child& child) {
  if (child.begin < 0) return true;
  UniqueFd(child.hold).Reset();  // or it would never see that the other side is gone
  char word = 0;
  ssize_t n = 0;
  do n = ::read(child.begin, &word, 1);
  while (n < 0 && errno == EINTR);
  return n == 1;
}

[[noreturn]] void Become(const Child& child) {
  ::setsid();  // whoever has its pid can end its group from then on
  if (!HearsToBegin(child)) ::_exit(kNotStarted);
  bool ready = child.join < 0 || ::write(child.join, "0", 1) == 1;
  if (child.has_cpus) (void)::sched_setaffinity(0, sizeof child.cpus, &child.cpus);
  // The kernel counts the bits from 1.
  if (child.has_memory) (void)::syscall(SYS_set_mempolicy, MPOL_PREFERRED, child.memory, kPlacesMax + 1);
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &usual, nullptr);
  for (const auto& [ours, theirs] : child.fds) ready = ready && ::dup2(ours, theirs) == theirs;
  CloseOnExecFrom(child.first_free);
  ready = ready && (!child.folder || ::chdir(child.folder) == 0);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (ready) ::execve(child.program, child.arguments, child.environment);
  const int reason = errno;
  (void)!::write(child.report, &reason, sizeof reason);
  ::_exit(kNotStarted);
}

// Where the kernel or a filter does not know the call, the child moves by itself, before anything else.
pid_t Fork(int group, Child* child, const std::string& folder, UniqueFd* join) {
  if (group < 0) return ::fork();
  clone_args args{};
  args.flags = CLONE_INTO_CGROUP;
  args.exit_signal = SIGCHLD;
  args.cgroup = static_cast<std::uint64_t>(group);
  const pid_t pid = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
  if (pid >= 0 || (errno != ENOSYS && errno != EINVAL && errno != E2BIG && errno != EPERM)) return pid;
  join->Reset(::open((folder + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  if (!*join) return -1;
  child->join = join->get();
  return ::fork();
}

void TakePlaces(const SpawnPlan& plan, Child* child) {
  for (const std::uint32_t cpu : plan.cpus) {
    if (cpu < kPlacesMax) CPU_SET(cpu, &child->cpus);
  }
  child->has_cpus = CPU_COUNT(&child->cpus) > 0;
  for (const std::uint32_t node : plan.memory) {
    if (node >= kPlacesMax) continue;
    child->memory[node / kWordBits] |= 1UL << (node % kWordBits);
    child->has_memory = true;
  }
}

}  // namespace

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

int SpawnProcess(const SpawnPlan& plan, pid_t* pid) {
  std::vector<std::string> arguments = plan.arguments, environment = plan.environment;
  std::vector<char*> words = Pointers(arguments), variables = Pointers(environment);
  Child child;
  child.program = arguments[0].c_str();
  child.arguments = words.data();
  child.environment = variables.data();
  child.folder = plan.folder.empty() ? nullptr : plan.folder.c_str();
  for (const auto& [ours, theirs] : plan.fds) child.first_free = std::max(child.first_free, theirs + 1);
  TakePlaces(plan, &child);
  // Copies above all that is given out, so that no dup2 runs over one that is still needed.
  std::vector<UniqueFd> high;
  for (const auto& [ours, theirs] : plan.fds) {
    high.emplace_back(::fcntl(ours, F_DUPFD_CLOEXEC, child.first_free));
    if (!high.back()) return errno;
    child.fds.emplace_back(high.back().get(), theirs);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  const UniqueFd hear(ends[0]);
  UniqueFd low(ends[1]), say(::fcntl(ends[1], F_DUPFD_CLOEXEC, child.first_free));
  if (!say) return errno;
  low.Reset();
  child.report = say.get();
  UniqueFd group, join;
  if (!plan.group.empty()) {
    group.Reset(::open(plan.group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!group) return errno;
  }
  UniqueFd begin, tell;
  if (plan.note) {
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
    begin.Reset(ends[0]);
    tell.Reset(ends[1]);
    child.begin = begin.get();
    child.hold = tell.get();
  }
  const pid_t started = Fork(group.get(), &child, plan.group, &join);
  if (started < 0) return errno;
  if (started == 0) Become(child);
  say.Reset();
  if (plan.note) {
    begin.Reset();
    plan.note(started);
    (void)!::write(tell.get(), "", 1);
  }
  int reason = 0;
  ssize_t n = 0;
  do n = ::read(hear.get(), &reason, sizeof reason);
  while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof reason)) {  // the end of the pipe: the program has begun
    *pid = started;
    return 0;
  }
  ::waitpid(started, nullptr, 0);
  return reason;
}

}  // namespace glim::nodeagent
