// glim-init: the first process of a task's container, started by runc for glim-shim, never by hand. It starts the
// ranks, reaps whatever ends, and tells the shim, which waits outside: protocol.h.
//
// Linked statically, so that it runs in any image. One thread, one poll loop.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "nodeagent/programs/init/protocol.h"
#include "nodeagent/programs/init/rank_process.h"
#include "nodeagent/task/task_files.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

class Init {
 public:
  explicit Init(LaunchSpec spec) : spec_(std::move(spec)), exited_(spec_.ranks.size(), false) {}

  int Run() {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signals_.Reset(::signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
    if (!signals_) return 1;
    if (!StartRanks() || !AwaitGo()) return 1;  // with init everything in the container ends
    while (Reap()) Wait();
    return 0;
  }

 private:
  void Tell(const std::string& line) {
    // The shim may be gone; nobody is left to be told then, and the ranks run on.
    (void)::send(kControl, line.data(), line.size(), MSG_NOSIGNAL);
  }

  bool StartRanks() {
    for (std::size_t i = 0; i < spec_.ranks.size(); ++i) {
      const int output = kFirstOutput + static_cast<int>(i);
      const Result<pid_t> pid = SpawnRank(spec_, spec_.ranks[i], output, "");
      if (!pid.ok()) {
        Tell("failed " + std::to_string(i) + " " + ToWord(FaultOf(pid.status())) + " " + WithFix(pid.status()) + "\n");
        return false;
      }
      ::close(output);  // the shim gave it under a fixed number: no UniqueFd owns it
      pids_.push_back(*pid);
      Tell("started " + std::to_string(i) + " " + std::to_string(*pid) + "\n");
    }
    return true;
  }

  bool AwaitGo() {
    char byte = 0;
    return ::read(kControl, &byte, 1) == 1 && byte == kGo;
  }

  // False when no child is left.
  bool Reap() {
    for (;;) {
      int wait_status = 0;
      const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
      if (pid < 0 && errno == ECHILD) return false;
      if (pid <= 0) return true;
      for (std::size_t i = 0; i < pids_.size(); ++i) {
        if (pids_[i] != pid || exited_[i]) continue;
        exited_[i] = true;
        Tell("exited " + std::to_string(i) + " " + std::to_string(wait_status) + "\n");
      }
    }
  }

  void Wait() {
    pollfd ended{signals_.get(), POLLIN, 0};
    (void)::poll(&ended, 1, -1);
    signalfd_siginfo info{};
    while (::read(signals_.get(), &info, sizeof info) > 0) {
    }
  }

  const LaunchSpec spec_;
  UniqueFd signals_;
  std::vector<pid_t> pids_;
  std::vector<bool> exited_;
};

Result<LaunchSpec> ReceiveLaunch() {
  const Status broken(StatusCode::kDataLoss, "the shim's order is torn");
  std::string digits;
  char byte = 0;
  while (::read(kControl, &byte, 1) == 1 && byte != '\n' && digits.size() < 10) digits += byte;
  const std::size_t size = std::strtoul(digits.c_str(), nullptr, 10);
  if (byte != '\n' || size == 0 || size > kLaunchBytesMax) return broken;
  std::string text(size, '\0');
  if (::recv(kControl, text.data(), size, MSG_WAITALL) != static_cast<ssize_t>(size)) return broken;
  return ParseLaunchSpec(text);
}

// What it began with is a file for the words of the container's runtime; nothing bounds what else is written there.
void LeaveOutput() {
  const UniqueFd none(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!none) return;
  ::dup2(none.get(), STDOUT_FILENO);
  ::dup2(none.get(), STDERR_FILENO);
}

int Main() {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  ::fcntl(kControl, F_SETFD, FD_CLOEXEC);
  LeaveOutput();
  // The ranks have init's user id; this keeps them from tracing it and from taking its descriptors.
  ::prctl(PR_SET_DUMPABLE, 0);
  Result<LaunchSpec> spec = ReceiveLaunch();
  if (!spec.ok()) {
    std::fprintf(stderr, "glim-init: %s\n", spec.status().message().c_str());
    return 1;
  }
  return Init(std::move(*spec)).Run();
}

}  // namespace
}  // namespace glim::nodeagent

int main() { return glim::nodeagent::Main(); }
