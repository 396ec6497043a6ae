#include "nodeagent/os/program_stacks.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "nodeagent/os/processes.h"
#include "nodeagent/os/run_program.h"
#include "sdk/io/io_error.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::string_view kDoorPrefix = "/memfd:glim-stacks-";
constexpr int kSignalMost = 64;
constexpr std::size_t kStacksBytesMax = 256 * 1024;
constexpr milliseconds kLookAgain{20};
constexpr int kQuietLooks = 5;  // an answer that has not grown for so many is whole
constexpr const char* kDebugger = "/usr/bin/gdb";
constexpr rlim_t kDebuggerBytesMax = rlim_t{4} << 30;  // of addresses: no program's symbols take a node's memory

bool Has(std::uint64_t signals, int signal) { return (signals >> (signal - 1) & 1) != 0; }

// Whoever hangs in the kernel takes no signal; any other thread tells the stacks of all.
const ThreadLook* WhoAnswers(const ProcessLook& look, int signal) {
  const auto answers = std::find_if(look.threads.begin(), look.threads.end(), [&](const ThreadLook& thread) {
    return (thread.state == 'S' || thread.state == 'R') && !Has(thread.blocked, signal);
  });
  return answers == look.threads.end() ? nullptr : &*answers;
}

std::int64_t SizeOf(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 ? about.st_size : 0;
}

std::string ReadWhole(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (text.size() < kStacksBytesMax) {
    const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

// Which signal the name of a file in memory tells; 0: it is no file for stacks.
int SignalOf(const std::string& link) {
  std::array<char, 64> target{};
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size() - 1);
  const std::string_view name(target.data(), size < 0 ? 0 : static_cast<std::size_t>(size));
  if (!name.starts_with(kDoorPrefix)) return 0;
  const int signal = std::atoi(target.data() + kDoorPrefix.size());
  return signal < 1 || signal > kSignalMost ? 0 : signal;
}

struct Debugger {
  pid_t target = 0;
  pid_t pid = 0;
  UniqueFd process;  // pidfd
  UniqueFd words;
  Status status;
};

Debugger StartDebugger(pid_t target) {
  Debugger debugger;
  debugger.target = target;
  debugger.words = UniqueFd(::memfd_create("glim-gdb", MFD_CLOEXEC));
  if (!debugger.words) {
    debugger.status = FileError("make", "a file in memory", errno);
    return debugger;
  }
  // Its files are those of its own root, a container's too; a link to an absolute path there leads into gdb's own root.
  // Values of arguments are nobody's business but the program's.
  const std::string root = "set sysroot /proc/" + std::to_string(target) + "/root";
  const auto started =
      StartProgram({kDebugger, "-nx", "-nh", "-batch", "-iex", "set auto-load off", "-iex", root, "-ex",
                    "set print frame-arguments none", "-ex", "set print thread-events off", "-ex",
                    "thread apply all backtrace 40", "-p", std::to_string(target)},
                   {"PATH=/usr/bin:/bin", "LC_ALL=C"}, "/proc/self/fd/" + std::to_string(debugger.words.get()));
  debugger.status = started.status();
  if (!started.ok()) return debugger;
  debugger.pid = *started;
  const rlimit memory{kDebuggerBytesMax, kDebuggerBytesMax};
  (void)::prlimit(debugger.pid, RLIMIT_AS, &memory, nullptr);
  debugger.process = UniqueFd(OpenPidfd(*started));
  return debugger;
}

void EndDebugger(Debugger& debugger, steady_clock::time_point until) {
  const auto left = std::chrono::duration_cast<milliseconds>(until - steady_clock::now());
  pollfd ended{debugger.process.get(), POLLIN, 0};
  const bool in_time = debugger.process && ::poll(&ended, 1, static_cast<int>(std::max<long>(0, left.count()))) > 0;
  if (!in_time) {
    ::kill(-debugger.pid, SIGKILL);
    pollfd killed{debugger.process.get(), POLLIN, 0};
    (void)::poll(&killed, 1, 1000);
    // It may have stopped the process just before, and not let it go on.
    ::kill(debugger.target, SIGCONT);
    debugger.status = Status(StatusCode::kDeadlineExceeded, "gdb did not end in time");
  }
  while (::waitpid(debugger.pid, nullptr, in_time ? 0 : WNOHANG) < 0 && errno == EINTR) {
  }
}

// From the first thread on: what gdb says before is of itself.
Result<std::string> StacksIn(const std::string& words) {
  const std::size_t at = ("\n" + words).find("\nThread ");
  if (at != std::string::npos) return words.substr(at);
  const std::size_t why = words.find("ptrace:");
  return Status(
      StatusCode::kPermissionDenied,
      "gdb may not look at it" +
          (why == std::string::npos ? std::string() : " (" + words.substr(why, words.find('\n', why) - why) + ")"));
}

}  // namespace

std::optional<StackDoor> FindStackDoor(const ProcessLook& look) {
  if (look.threads.empty()) return std::nullopt;
  const std::string folder = "/proc/" + std::to_string(look.pid) + "/fd";
  const UniqueFd process(OpenPidfd(look.pid));
  DIR* files = process ? ::opendir(folder.c_str()) : nullptr;
  if (!files) return std::nullopt;
  std::optional<StackDoor> door;
  while (const dirent* entry = door ? nullptr : ::readdir(files)) {
    if (SignalOf(folder + "/" + entry->d_name) == 0) continue;
    UniqueFd file(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), std::atoi(entry->d_name), 0)));
    if (!file) continue;
    // The program may have put another file there meanwhile.
    const int signal = SignalOf("/proc/self/fd/" + std::to_string(file.get()));
    struct stat about {};
    if (signal == 0 || ::fcntl(file.get(), F_GET_SEALS) < 0 || ::fstat(file.get(), &about) != 0) continue;
    // A program that took the process over has the file, and not the handler.
    if (Has(look.threads.front().caught, signal)) door = StackDoor{std::move(file), signal, about.st_ino};
  }
  ::closedir(files);
  return door;
}

Result<std::string> AskForStacks(const ProcessLook& look, const StackDoor& door, milliseconds limit) {
  const ThreadLook* thread = WhoAnswers(look, door.signal);
  if (!thread) return Status(StatusCode::kDeadlineExceeded, "none of its threads can take a signal");
  const UniqueFd& file = door.file;
  if (::ftruncate(file.get(), 0) != 0) return FileError("empty", "the file for stacks", errno);
  if (::syscall(SYS_tgkill, look.pid, thread->id, door.signal) != 0) {
    return FileError("ask", "process " + std::to_string(look.pid), errno);
  }
  const auto until = steady_clock::now() + limit;
  std::int64_t before = 0;
  for (int quiet = 0; quiet < kQuietLooks;) {
    if (steady_clock::now() >= until) break;
    (void)::poll(nullptr, 0, static_cast<int>(kLookAgain.count()));
    const std::int64_t size = SizeOf(file.get());
    quiet = size > 0 && size == before ? quiet + 1 : 0;
    before = size;
  }
  if (before > 0) return ReadWhole(file.get());
  return Status(StatusCode::kDeadlineExceeded, "it did not answer within " + std::to_string(limit.count()) + " ms");
}

std::vector<Result<std::string>> DebuggerStacks(const std::vector<pid_t>& processes, milliseconds limit) {
  std::vector<Result<std::string>> stacks;
  if (::access(kDebugger, X_OK) != 0) {
    stacks.assign(processes.size(), Status(StatusCode::kNotFound, "this node has no gdb"));
    return stacks;
  }
  const auto until = steady_clock::now() + limit;
  std::vector<Debugger> debuggers;
  for (const pid_t process : processes) debuggers.push_back(StartDebugger(process));
  for (Debugger& debugger : debuggers) {
    if (debugger.pid > 0) EndDebugger(debugger, until);
    if (!debugger.status.ok()) {
      stacks.emplace_back(debugger.status);
    } else {
      stacks.push_back(StacksIn(ReadWhole(debugger.words.get())));
    }
  }
  return stacks;
}

}  // namespace glim::nodeagent
