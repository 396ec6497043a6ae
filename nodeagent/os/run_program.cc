#include "nodeagent/os/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "nodeagent/os/processes.h"
#include "nodeagent/os/spawn_process.h"
#include "sdk/base/system_path.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

Result<pid_t> Start(SpawnPlan plan, const std::string& output, const std::vector<std::pair<int, int>>& fds) {
  const UniqueFd none(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const UniqueFd words(::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  plan.fds = {{none.get(), 0}, {words.get(), 1}, {words.get(), 2}};
  plan.fds.insert(plan.fds.end(), fds.begin(), fds.end());
  pid_t pid = 0;
  const int error = none && words ? SpawnProcess(plan, &pid) : errno;
  if (error == 0) return pid;
  return Status(StatusCode::kFailedPrecondition, "cannot start " + plan.arguments[0] + ": " + std::strerror(error));
}

}  // namespace

Result<pid_t> StartNotedProgram(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                                const std::string& output, std::function<void(pid_t)> note) {
  SpawnPlan plan{arguments, environment, "", "", {}};
  plan.note = std::move(note);
  return Start(std::move(plan), output, {});
}

Result<pid_t> StartProgram(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                           const std::string& output, const std::vector<std::pair<int, int>>& fds,
                           const std::string& group) {
  if (!group.empty()) return Start({arguments, environment, "", group, {}}, output, fds);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  // Copies above all that is given out, so that no dup2 runs over one that is still needed.
  int first_free = 3;
  for (const auto& [ours, theirs] : fds) first_free = std::max(first_free, theirs + 1);
  std::vector<UniqueFd> high;
  for (const auto& [ours, theirs] : fds) {
    high.emplace_back(::fcntl(ours, F_DUPFD_CLOEXEC, first_free));
    posix_spawn_file_actions_adddup2(&actions, high.back().get(), theirs);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, first_free);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> words = arguments, variables = environment;
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, arguments[0].c_str(), &actions, &attributes, Pointers(words).data(),
                                  Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return Status(StatusCode::kFailedPrecondition, "cannot start " + arguments[0] + ": " + std::strerror(error));
  }
  return pid;
}

Result<int> RunProgram(const std::vector<std::string>& arguments, const std::string& output,
                       const std::vector<std::pair<int, int>>& fds, const std::string& group) {
  const Result<pid_t> pid = StartProgram(arguments, {kSystemPathVariable}, output, fds, group);
  if (!pid.ok()) return pid.status();
  int wait_status = 0;
  while (::waitpid(*pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Result<int> RunProgramFor(std::chrono::milliseconds limit, const std::vector<std::string>& arguments,
                          const std::string& output) {
  const Result<pid_t> pid = StartProgram(arguments, {kSystemPathVariable}, output);
  if (!pid.ok()) return pid.status();
  const UniqueFd process(OpenPidfd(*pid));
  pollfd ended{process.get(), POLLIN, 0};
  const bool in_time = process && ::poll(&ended, 1, static_cast<int>(limit.count())) > 0;
  if (!in_time) ::kill(-*pid, SIGKILL);
  int wait_status = 0;
  // One that hangs in the kernel is left to the next parent.
  while (::waitpid(*pid, &wait_status, in_time ? 0 : WNOHANG) < 0 && errno == EINTR) {
  }
  if (!in_time) {
    return Status(StatusCode::kDeadlineExceeded,
                  arguments[0] + " did not end within " + std::to_string(limit.count()) + " ms");
  }
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

void RunInBackground(const std::vector<std::string>& arguments) {
  // The shell ends at once, and what it started is nobody's child.
  std::vector<std::string> words = {"/bin/sh", "-c", "\"$@\" &", "sh"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  (void)RunProgram(words, "/dev/null");
}

}  // namespace glim::nodeagent
