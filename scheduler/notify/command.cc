#include "scheduler/notify/command.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "sdk/base/system_path.h"
#include "sdk/io/unique_fd.h"

namespace glim::notify {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr char kDropper[] = "/usr/bin/setpriv";  // util-linux's; on every Debian
constexpr int kLookEvery = 100;                  // ms: whether to stop
constexpr mode_t kOthersWrite = 022;

Status Refused(const std::string& message, std::string fix) {
  return Status(StatusCode::kPermissionDenied, message).WithReason("BAD_COMMAND").WithFix(std::move(fix));
}

bool IsTrusted(const struct stat& info) { return info.st_uid == 0 || info.st_uid == ::geteuid(); }

// Each folder on the way: who may write there may give the name to something else, unless it is sticky.
Status CheckPath(const std::string& path) {
  std::array<char, PATH_MAX> real{};
  if (::realpath(path.c_str(), real.data()) == nullptr) {
    return Refused(path + ": " + std::strerror(errno), "install the program, or name another");
  }
  if (path != real.data()) {
    return Refused(path + " leads over a link", "write where it leads to: " + std::string(real.data()));
  }
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string part = path.substr(0, end);
    struct stat info {};
    if (::lstat(part.c_str(), &info) != 0) return Refused(part + ": " + std::strerror(errno), "install the program");
    const bool program = end == std::string::npos;
    if (program && !S_ISREG(info.st_mode)) return Refused(part + " is no regular file", "name a program");
    if (program && (info.st_mode & 0111) == 0) return Refused(part + " is no program", "chmod +x " + part);
    if (!IsTrusted(info)) return Refused(part + " belongs to uid " + std::to_string(info.st_uid), "chown root " + part);
    if ((info.st_mode & kOthersWrite) != 0 && (program || (info.st_mode & S_ISVTX) == 0)) {
      return Refused("others than its owner may write " + part, "chmod go-w " + part);
    }
  }
  return Status::Ok();
}

Result<CommandUser> FindUser(const std::string& name) {
  const bool number = name.find_first_not_of("0123456789") == std::string::npos;
  if (number && (name.size() > 10 || std::stoull(name) >= UINT32_MAX)) {
    return Refused("user " + name + " is no uid", "give a smaller number, or a name");
  }
  const auto uid = number ? static_cast<uid_t>(std::stoull(name)) : 0;
  std::vector<char> buffer(std::size_t{64} << 10);
  passwd entry{};
  passwd* found = nullptr;
  const int error = number ? ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found)
                           : ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return CommandUser{found->pw_uid, found->pw_gid};
  if (error != 0) return Status(StatusCode::kUnavailable, "user " + name + ": " + std::strerror(error));
  if (number) return CommandUser{uid, uid};  // without an entry: a group of its own, as most users have
  return Refused("there is no user " + name + " on this machine", "make one: useradd --system " + name);
}

std::vector<std::string> Words(const std::string& path, const CommandUser& user) {
  std::vector<std::string> words = {kDropper, "--no-new-privs", "--inh-caps=-all"};
  if (::geteuid() == 0) {
    words.push_back("--reuid=" + std::to_string(user.uid));
    words.push_back("--regid=" + std::to_string(user.gid));
    words.insert(words.end(), {"--clear-groups", "--bounding-set=-all"});
  }
  words.insert(words.end(), {"--", path});
  return words;
}

// The message as a file in memory: the program reads it when it likes, and nobody waits for that.
UniqueFd InputOf(const std::string& input) {
  UniqueFd fd(::memfd_create("notification", MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), input.data(), input.size()) != static_cast<ssize_t>(input.size())) return UniqueFd();
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return UniqueFd();
  return fd;
}

int Spawn(std::vector<std::string> words, int input, int output, pid_t* pid) {
  std::vector<std::string> variables = {kSystemPathVariable, "HOME=/", "LANG=C.UTF-8"};
  std::vector<char*> argv, environment;
  for (std::string& word : words) argv.push_back(word.data());
  for (std::string& variable : variables) environment.push_back(variable.data());
  argv.push_back(nullptr);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addchdir_np(&actions, "/");
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawn(pid, kDropper, &actions, &attributes, argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

// Reads what is there; false: nothing more will come.
bool TakeOutput(int fd, std::string* output) {
  std::array<char, 4096> piece{};
  for (;;) {
    const ssize_t bytes = ::read(fd, piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return bytes < 0 && errno == EAGAIN;
    const std::size_t room = kCommandOutputMax - std::min(kCommandOutputMax, output->size());
    output->append(piece.data(), std::min(room, static_cast<std::size_t>(bytes)));
  }
}

// Until it has ended. What it says is read all the while, so that it is not held up by a full pipe.
Status Await(int process, int output, Duration limit, const std::atomic<bool>& stopping, std::string* said) {
  const auto until = SteadyClock::now() + std::chrono::milliseconds(limit.ms);
  bool open = true;
  while (!stopping) {
    if (SteadyClock::now() >= until) {
      return Status(StatusCode::kDeadlineExceeded, "it did not end within " + std::to_string(limit.ms) + " ms");
    }
    std::array<pollfd, 2> polled = {pollfd{process, POLLIN, 0}, pollfd{open ? output : -1, POLLIN, 0}};
    (void)::poll(polled.data(), polled.size(), kLookEvery);
    if (open && polled[1].revents != 0) open = TakeOutput(output, said);
    if (polled[0].revents == 0) continue;
    if (open) TakeOutput(output, said);
    return Status::Ok();
  }
  return Status(StatusCode::kAborted, "the scheduler is stopping");
}

}  // namespace

Result<CommandUser> CheckCommand(const core::NotifyCommand& command) {
  if (Status s = CheckPath(command.path); !s.ok()) return s;
  auto user = FindUser(command.user);
  if (!user.ok()) return user;
  if (user->uid == 0) return Refused("user " + command.user + " is root", "name a user of its own");
  if (::geteuid() != 0 && user->uid != ::geteuid()) {
    return Refused("the scheduler is not root, and runs commands as itself alone (uid " + std::to_string(::geteuid()) +
                       "), not as " + command.user,
                   "write user: \"" + std::to_string(::geteuid()) + "\", or run the scheduler as root");
  }
  return user;
}

Result<CommandRun> RunCommand(const core::NotifyCommand& command, const std::string& input, Duration limit,
                              const std::atomic<bool>& stopping) {
  const auto user = CheckCommand(command);
  if (!user.ok()) return user.status();
  int ends[2] = {-1, -1};
  const UniqueFd in = InputOf(input);
  if (!in || ::pipe2(ends, O_CLOEXEC) != 0) {
    return Status(StatusCode::kUnavailable, command.path + " cannot be started: " + std::strerror(errno));
  }
  const UniqueFd out(ends[0]);
  UniqueFd theirs(ends[1]);
  (void)::fcntl(out.get(), F_SETFL, O_NONBLOCK);
  pid_t pid = 0;
  if (const int error = Spawn(Words(command.path, *user), in.get(), theirs.get(), &pid); error != 0) {
    return Status(StatusCode::kUnavailable, command.path + " cannot be started: " + std::strerror(error));
  }
  theirs.Reset();
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  CommandRun run;
  const Status waited = Await(process.get(), out.get(), limit, stopping, &run.output);
  ::kill(-pid, SIGKILL);  // with whatever it left behind; its number is not given away before it is waited for
  int wait_status = 0;
  while (::waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (!waited.ok()) return Status(waited.code(), command.path + ": " + waited.message());
  run.exit_code = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  return run;
}

}  // namespace glim::notify
