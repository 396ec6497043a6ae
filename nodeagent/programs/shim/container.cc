#include "nodeagent/programs/shim/container.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "nodeagent/confinement/control_groups.h"
#include "nodeagent/confinement/task_mounts.h"
#include "nodeagent/os/last_words.h"
#include "nodeagent/os/oom_score.h"
#include "nodeagent/os/run_program.h"
#include "nodeagent/programs/init/protocol.h"
#include "sdk/base/printable.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kSmallFileMax = 64 * 1024;
constexpr std::int64_t kChargedAtOnce = 4 << 20;  // a kill may leave that much of a limit: a huge page and more
constexpr int kRemoveTries = 100;                 // the kernel takes a moment to let go of what was killed
constexpr useconds_t kRemovePauseUs = 10'000;
constexpr int kAnswerSeconds = 30;  // a rank starts within milliseconds; this bounds a machine that hangs

constexpr const char* kSilent = "the container's first process does not answer";

// runc or crun.
std::string NameOf(const std::string& program) { return program.substr(program.rfind('/') + 1); }

// What the runtime writes to its standard output and error, while it starts the container.
std::string WordsFile(const ContainerLaunch& launch) { return launch.bundle + "/runc.words"; }

// The newest complaint in the runtime's log: a line of JSON with "level" and "msg". Without one: its last words.
std::string RuncComplaint(const std::string& path, const std::string& words_path) {
  const Result<std::string> log = ReadFile(path, kSmallFileMax);
  std::string words = LastLineIn(words_path, "no reason given");
  if (!log.ok()) return words;
  std::istringstream lines(*log);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json entry = nlohmann::json::parse(line, nullptr, false);
    if (!entry.is_object() || entry.value("level", "") == "warning") continue;
    words = entry.value("msg", words);
  }
  return words;
}

bool SendAll(int fd, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

// Where the kernel keeps the memory account of a process: /proc/PID/cgroup names it below the controller's folder.
std::string MemoryFolder(pid_t pid) {
  const Result<std::string> text = ReadFile("/proc/" + std::to_string(pid) + "/cgroup", kSmallFileMax);
  if (!text.ok()) return "";
  std::istringstream lines(*text);
  std::string unified;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers == "memory") return "/sys/fs/cgroup/memory" + line.substr(second + 1);
    if (controllers.empty()) unified = "/sys/fs/cgroup" + line.substr(second + 1);
  }
  return unified;
}

// A file of one number; 0: there is none.
std::int64_t NumberIn(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kSmallFileMax);
  return text.ok() ? std::atoll(text->c_str()) : 0;
}

// The number after the word that begins a line; 0: there is none.
int CountIn(const std::string& text, const std::string& word) {
  const std::size_t at = ("\n" + text).find("\n" + word + " ");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + word.size() + 1);
}

}  // namespace

Result<std::unique_ptr<Container>> Container::Start(const LaunchSpec& spec, std::vector<RankProcess>* ranks) {
  auto container = std::unique_ptr<Container>(new Container(*spec.container));
  Status status = container->RunRunc(spec, ranks);
  if (status.ok()) status = container->StartRanks(spec, ranks);
  if (status.ok()) return container;
  if (container->init_ > 0) {
    ::kill(container->init_, SIGKILL);
    ::waitpid(container->init_, nullptr, 0);
  }
  container->Remove();
  ranks->clear();
  return status;
}

Status Container::RunRunc(const LaunchSpec& spec, std::vector<RankProcess>* ranks) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return FileError("make", "a socket", errno);
  control_.Reset(ends[0]);
  const UniqueFd inner(ends[1]);
  std::vector<std::pair<int, int>> fds = {{inner.get(), kControl}};
  std::vector<UniqueFd> outputs;
  for (const RankLaunch& rank : spec.ranks) {
    Result<OutputPipe> pipe = MakeOutputPipe();
    if (!pipe.ok()) return pipe.status();
    fds.emplace_back(pipe->write.get(), kFirstOutput + static_cast<int>(outputs.size()));
    outputs.push_back(std::move(pipe->write));
    ranks->push_back({rank.rank, 0, std::move(pipe->read)});
  }
  const std::string pid_file = launch_.bundle + "/pid";
  const Result<int> code =
      RunProgram({"/proc/self/exe", kMountsVerb, launch_.bundle, launch_.runc, "--root", launch_.root, "--log",
                  RuncLog(), "--log-format", "json", "run", "--detach", "--bundle", launch_.bundle, "--pid-file",
                  pid_file, "--preserve-fds", std::to_string(fds.size()), launch_.id},
                 WordsFile(launch_), fds,  // init begins with the same output, and leaves it at once
                 EntryGroupOf(spec));
  if (!code.ok()) return code.status();
  if (*code > 128) {
    return Status(StatusCode::kFailedPrecondition, NameOf(launch_.runc) + " was killed by signal " +
                                                       std::to_string(*code - 128) + " while it started the container");
  }
  if (Status status = ReadMountFault(launch_.bundle); !status.ok()) return status;
  if (*code != 0) {
    return Status(StatusCode::kFailedPrecondition, NameOf(launch_.runc) + " could not start the container: " +
                                                       RuncComplaint(RuncLog(), WordsFile(launch_)));
  }
  const Result<std::string> pid = ReadFile(pid_file, kSmallFileMax);
  if (!pid.ok()) return pid.status();
  init_ = static_cast<pid_t>(std::strtol(pid->c_str(), nullptr, 10));
  if (init_ <= 0) {
    return Status(StatusCode::kInternal, NameOf(launch_.runc) + " did not say which process the container is");
  }
  memory_folder_ = MemoryFolder(init_);
  return Status::Ok();
}

Status Container::SendLaunch(const LaunchSpec& spec) {
  const std::string launch = ToJson(spec);
  const timeval limit{kAnswerSeconds, 0};
  ::setsockopt(control_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(control_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const bool sent = SendAll(control_.get(), std::to_string(launch.size()) + "\n" + launch);
  return sent ? Status::Ok() : Status(StatusCode::kInternal, kSilent);
}

Status Container::StartRanks(const LaunchSpec& spec, std::vector<RankProcess>* ranks) {
  const Status silent(StatusCode::kInternal, kSilent);
  // Not before runc has ended: what ranks fill at once is the disk that runc writes its last words to.
  if (Status status = SendLaunch(spec); !status.ok()) return status;
  for (RankProcess& rank : *ranks) {
    const Result<std::string> line = ReadLine();
    if (!line.ok()) return silent;
    std::istringstream words(*line);
    std::string verb;
    std::size_t index = 0;
    words >> verb >> index;
    if (verb != "started") {
      std::string fault, reason;
      words >> fault;
      std::getline(words >> std::ws, reason);
      return StartFailure(StartFaultOf(fault), "rank " + std::to_string(rank.rank) + ": " + reason);
    }
    pid_t inside = 0;
    words >> inside;
    rank.pid = OutsidePid(inside);
    if (rank.pid > 0) RaiseOomScore(rank.pid, kRankOomScore);
  }
  if (!SendAll(control_.get(), std::string(1, kGo))) return silent;
  ::fcntl(control_.get(), F_SETFL, O_NONBLOCK);
  return Status::Ok();
}

Result<std::string> Container::ReadLine() {
  for (;;) {
    const std::size_t end = received_.find('\n');
    if (end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t n = ::recv(control_.get(), buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return Status(StatusCode::kUnavailable, "nothing yet");
    if (n <= 0) return Status(StatusCode::kOutOfRange, "the other side is gone");
    received_.append(buffer, static_cast<std::size_t>(n));
  }
}

// The ranks are children of init and not reaped yet, so that they are all there to be looked at.
pid_t Container::OutsidePid(pid_t inside) const {
  const std::string task = "/proc/" + std::to_string(init_) + "/task/" + std::to_string(init_) + "/children";
  const Result<std::string> children = ReadFile(task, kSmallFileMax);
  if (!children.ok()) return 0;
  std::istringstream pids(*children);
  for (pid_t outside = 0; pids >> outside;) {
    const Result<std::string> status = ReadFile("/proc/" + std::to_string(outside) + "/status", kSmallFileMax);
    if (!status.ok()) continue;
    const std::size_t at = status->find("\nNSpid:");
    if (at == std::string::npos) continue;
    std::istringstream numbers(status->substr(at + 7, status->find('\n', at + 1) - at - 7));
    pid_t last = 0;
    for (pid_t number = 0; numbers >> number;) last = number;
    if (last == inside) return outside;
  }
  return 0;
}

std::vector<Container::Exit> Container::TakeExits() {
  std::vector<Exit> exits;
  while (control_) {
    const Result<std::string> line = ReadLine();
    if (!line.ok()) {
      if (line.status().code() != StatusCode::kUnavailable) control_.Reset();
      break;
    }
    std::istringstream words(*line);
    std::string verb;
    Exit exit;
    if (words >> verb >> exit.rank >> exit.wait_status && verb == "exited") exits.push_back(exit);
  }
  return exits;
}

Container::MemoryKills Container::CountMemoryKills() const {
  MemoryKills kills;
  // "oom_kill N" in memory.events (version 2) and memory.oom_control (version 1, Linux 4.13): of its processes, whoever
  // had too little. Whether it was this group's limit: "oom N" of version 2; in version 1 the most that it ever had,
  // for its failcnt stays 0 on some kernels.
  if (const Result<std::string> events = ReadFile(memory_folder_ + "/memory.events", kSmallFileMax); events.ok()) {
    kills.kills = CountIn(*events, "oom_kill");
    kills.own_limit = kills.kills > 0 && CountIn(*events, "oom") > 0;
    return kills;
  }
  const Result<std::string> control = ReadFile(memory_folder_ + "/memory.oom_control", kSmallFileMax);
  if (control.ok()) kills.kills = CountIn(*control, "oom_kill");
  const std::int64_t limit = NumberIn(memory_folder_ + "/memory.limit_in_bytes");
  const std::int64_t most = NumberIn(memory_folder_ + "/memory.max_usage_in_bytes");
  kills.own_limit = kills.kills > 0 && limit > 0 && most > limit - kChargedAtOnce;
  return kills;
}

void Container::Remove() {
  (void)RunProgram({launch_.runc, "--root", launch_.root, "delete", "--force", launch_.id}, RuncLog());
  // A runc that was killed in the middle has left no record that `delete` could go by.
  for (int i = 0; i < kRemoveTries && !RemoveControlGroup(launch_.cgroup); ++i) ::usleep(kRemovePauseUs);
}

}  // namespace glim::nodeagent
