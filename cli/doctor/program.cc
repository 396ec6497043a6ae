#include "cli/doctor/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "sdk/io/unique_fd.h"
#include "sdk/net/deadline.h"

extern char** environ;

namespace glim::cli::doctor {
namespace {

constexpr std::size_t kOutputBytesMax = std::size_t{64} << 10;
constexpr Duration kAfterKill = Milliseconds(200);

struct Pipe {
  UniqueFd out, in;
};

bool OpenPipe(Pipe* pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe->out.Reset(ends[0]);
  pipe->in.Reset(ends[1]);
  return true;
}

pid_t Start(const std::vector<std::string>& words, int out, int err) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  // Ctrl-C is this program's affair, and its threads have it blocked: a program that is started does not.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, words[0].c_str(), &actions, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

// What is there now; false: that was the end of it.
bool Take(const UniqueFd& from, std::string* text) {
  std::array<char, 4096> buffer{};
  const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
  if (n > 0 && text->size() < kOutputBytesMax) text->append(buffer.data(), static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

// Both to their ends; false: the time is over.
bool ReadBoth(Pipe* out, Pipe* err, ProgramEnd* end, const net::Deadline& deadline) {
  while (out->out || err->out) {
    if (deadline.Passed()) return false;
    pollfd fds[] = {{out->out ? out->out.get() : -1, POLLIN, 0}, {err->out ? err->out.get() : -1, POLLIN, 0}};
    if (::poll(fds, 2, deadline.PollTimeout(Seconds(1))) <= 0) continue;
    if (fds[0].revents != 0 && !Take(out->out, &end->out)) out->out.Reset();
    if (fds[1].revents != 0 && !Take(err->out, &end->err)) err->out.Reset();
  }
  return true;
}

// A process that hangs in the kernel is not there to be waited for: it is left.
bool Await(pid_t pid, const net::Deadline& deadline, int* status) {
  while (true) {
    const pid_t ended = ::waitpid(pid, status, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return ended == pid;
    if (deadline.Passed()) return false;
    ::poll(nullptr, 0, deadline.PollTimeout(Milliseconds(5)));
  }
}

}  // namespace

ProgramEnd RunProgram(const std::vector<std::string>& words, Duration within) {
  ProgramEnd end;
  Pipe out, err;
  if (!OpenPipe(&out) || !OpenPipe(&err)) return end;
  const pid_t pid = Start(words, out.in.get(), err.in.get());
  out.in.Reset();
  err.in.Reset();
  if (pid < 0) return end;
  end.started = true;
  const net::Deadline deadline(within);
  int status = 0;
  end.in_time = ReadBoth(&out, &err, &end, deadline) && Await(pid, deadline, &status);
  if (!end.in_time) {
    ::kill(pid, SIGKILL);
    (void)Await(pid, net::Deadline(kAfterKill), &status);
    return end;
  }
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return end;
}

}  // namespace glim::cli::doctor
