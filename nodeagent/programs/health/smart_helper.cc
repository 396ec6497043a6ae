#include "nodeagent/programs/health/smart_helper.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "nodeagent/os/boot_clock.h"
#include "nodeagent/os/processes.h"
#include "nodeagent/os/spawn_process.h"
#include "nodeagent/programs/health/privileges.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::chrono::seconds kDiskDeadline{60};
constexpr std::chrono::seconds kKillDeadline{1};  // for the end of one that was killed
constexpr std::chrono::seconds kSlack{5};         // of an answer, beyond both
constexpr std::size_t kDiskBytesMax = 64;
constexpr std::size_t kDocumentBytesMax = 64 << 10;  // a disk's has 2 to 10 KiB
constexpr const char* kFolders[] = {"/usr/sbin/", "/usr/bin/",        "/sbin/",
                                    "/bin/",      "/usr/local/sbin/", "/usr/local/bin/"};
// A packet is the disk's name, a line's end, and the document or, behind this mark, why there is none.
constexpr char kWhyNot = '!';

Status NotAsked(std::string why) { return Status(StatusCode::kFailedPrecondition, std::move(why)); }

// Empty: it is not there.
std::string PathOf(const std::string& program) {
  if (program.empty()) return "";
  if (program.find('/') != std::string::npos) return ::access(program.c_str(), X_OK) == 0 ? program : "";
  for (const std::string folder : kFolders) {
    if (::access((folder + program).c_str(), X_OK) == 0) return folder + program;
  }
  return "";
}

// The kernel's own names; nothing that leaves /dev or is an option.
bool IsDisk(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

// False: the time is over.
bool WaitFor(int fd, std::int64_t until_ms) {
  pollfd entry{fd, POLLIN, 0};
  for (;;) {
    const std::int64_t left = until_ms - BootNow().ms;
    if (left <= 0) return false;
    const int ready = ::poll(&entry, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

class Asker {
 public:
  Asker(std::string program, std::string devices, std::chrono::milliseconds limit)
      : program_(std::move(program)), devices_(std::move(devices)), limit_(limit) {}

  Result<std::string> Ask(const std::string& disk) {
    if (!IsDisk(disk)) return NotAsked("it has no disk's name");
    if (IsStuck(disk)) return NotAsked("an earlier smartctl hangs there still");
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return NotAsked(std::strerror(errno));
    const UniqueFd read(ends[0]), none(::open("/dev/null", O_RDWR | O_CLOEXEC));
    UniqueFd write(ends[1]);
    SpawnPlan plan;
    plan.arguments = {program_, "--json=c", "-H", "-A", devices_ + disk};
    plan.fds = {{none.get(), 0}, {write.get(), 1}, {none.get(), 2}};
    pid_t pid = 0;
    if (const int error = SpawnProcess(plan, &pid); error != 0) return NotAsked(program_ + ": " + std::strerror(error));
    write.Reset();
    Result<std::string> document = ReadAnswer(read.get(), BootNow().ms + limit_.count());
    End(disk, pid);
    return document;
  }

 private:
  bool IsStuck(const std::string& disk) {
    const auto stuck = stuck_.find(disk);
    if (stuck == stuck_.end()) return false;
    if (::waitpid(stuck->second, nullptr, WNOHANG) == 0) return true;
    stuck_.erase(stuck);
    return false;
  }

  // Its exit status has bits of its own for what the document says better.
  Result<std::string> ReadAnswer(int pipe, std::int64_t until_ms) const {
    std::string document;
    std::array<char, 4096> buffer{};
    while (WaitFor(pipe, until_ms)) {
      const ssize_t n = ::read(pipe, buffer.data(), buffer.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return document;
      document.append(buffer.data(), static_cast<std::size_t>(n));
      if (document.size() > kDocumentBytesMax) return NotAsked("smartctl says too much");
    }
    return NotAsked("smartctl has not answered within " + std::to_string(limit_.count()) + " ms");
  }

  // Who has closed its output has nothing left to do. What hangs in the kernel is left there, and no other one is sent
  // after it.
  void End(const std::string& disk, pid_t pid) {
    const UniqueFd process(OpenPidfd(pid));
    ::kill(-pid, SIGKILL);
    (void)WaitFor(process.get(), BootNow().ms + std::chrono::milliseconds(kKillDeadline).count());
    if (::waitpid(pid, nullptr, WNOHANG) == 0) stuck_[disk] = pid;
  }

  const std::string program_, devices_;
  const std::chrono::milliseconds limit_;
  std::map<std::string, pid_t> stuck_;  // killed, and not gone
};

}  // namespace

SmartHelper SmartHelper::Start(const HealthOptions& options) {
  SmartHelper helper;
  helper.patience_ = options.Within(kDiskDeadline) + kKillDeadline + kSlack;
  const std::string program = PathOf(options.smartctl);
  int ends[2] = {-1, -1};
  if (program.empty()) {
    helper.why_not_ = "there is no " + options.smartctl + " (Debian's package smartmontools)";
  } else if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    helper.why_not_ = std::strerror(errno);
  }
  helper.socket_.Reset(ends[0]);
  const UniqueFd theirs(ends[1]), none(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!helper.socket_) return helper;
  SpawnPlan plan;
  plan.arguments = {"/proc/self/exe", "--serve", "smart",
                    "--smartctl",     program,   "--root",
                    options.root,     "--hurry", std::to_string(options.hurry)};
  plan.fds = {{theirs.get(), 0}, {none.get(), 1}, {STDERR_FILENO, 2}};
  pid_t pid = 0;
  if (const int error = SpawnProcess(plan, &pid); error != 0) {
    helper.why_not_ = std::string("its process cannot be started: ") + std::strerror(error);
    helper.socket_.Reset();
  }
  return helper;
}

Result<std::string> SmartHelper::Ask(const std::string& disk) {
  if (!socket_) return NotAsked(why_not_);
  const std::int64_t until_ms = BootNow().ms + patience_.count();
  bool there = ::send(socket_.get(), disk.data(), disk.size(), MSG_NOSIGNAL) >= 0;
  std::string packet(kDiskBytesMax + kDocumentBytesMax, '\0');
  while (there) {
    if (!WaitFor(socket_.get(), until_ms)) return NotAsked("nobody has answered");
    const ssize_t n = ::recv(socket_.get(), packet.data(), packet.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    there = n > 0;
    const std::string_view answer(packet.data(), there ? static_cast<std::size_t>(n) : 0);
    if (!answer.starts_with(disk + "\n")) continue;  // to an earlier question
    const std::string_view said = answer.substr(disk.size() + 1);
    return said.starts_with(kWhyNot) ? NotAsked(std::string(said.substr(1))) : Result<std::string>(std::string(said));
  }
  why_not_ = "the process that asks the disks has ended";
  socket_.Reset();
  return NotAsked(why_not_);
}

int ServeSmart(const HealthOptions& options) {
  if (Status status = LeavePrivileges({CAP_SYS_ADMIN, CAP_SYS_RAWIO}); !status.ok()) {
    std::fprintf(stderr, "glim-health: %s\n", status.message().c_str());
    return 1;
  }
  Asker asker(options.smartctl, options.root + "/dev/", options.Within(kDiskDeadline));
  std::array<char, kDiskBytesMax> name{};
  for (;;) {
    const ssize_t n = ::recv(STDIN_FILENO, name.data(), name.size(), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    const std::string disk(name.data(), static_cast<std::size_t>(n));
    const Result<std::string> document = asker.Ask(disk);
    const std::string packet =
        disk + "\n" + (document.ok() ? *document : std::string(1, kWhyNot) + document.status().message());
    if (::send(STDIN_FILENO, packet.data(), packet.size(), MSG_NOSIGNAL) < 0) return 0;
  }
}

}  // namespace glim::nodeagent::health
