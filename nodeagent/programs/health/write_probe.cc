#include "nodeagent/programs/health/write_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "nodeagent/os/boot_clock.h"
#include "nodeagent/os/processes.h"
#include "nodeagent/os/run_program.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::size_t kBytes = 4096;

}  // namespace

WriteProbe::WriteProbe(std::string folder, std::chrono::milliseconds limit)
    : folder_(std::move(folder)), limit_(limit) {}

bool WriteProbe::IsStuck() {
  if (stuck_ == 0) return false;
  if (::waitpid(stuck_, nullptr, WNOHANG) == 0) return true;
  stuck_ = 0;
  return false;
}

Looks WriteProbe::Look() {
  if (IsStuck()) return times_.Conditions(folder_);
  const std::int64_t begin = BootNow().ms;
  const Result<pid_t> pid = StartProgram({"/proc/self/exe", "--write", folder_}, {}, "/dev/null");
  if (!pid.ok()) return times_.Conditions(folder_);
  const UniqueFd process(OpenPidfd(*pid));
  pollfd entry{process.get(), POLLIN, 0};
  const auto left = [&] { return static_cast<int>(limit_.count() - (BootNow().ms - begin)); };
  while (left() > 0 && ::poll(&entry, 1, left()) < 0 && errno == EINTR) {
  }
  int status = 0;
  if (::waitpid(*pid, &status, WNOHANG) != *pid) {
    ::kill(*pid, SIGKILL);
    stuck_ = *pid;
    times_.Add(std::max<std::int64_t>(BootNow().ms - begin, kWriteMsMost + 1));
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    times_.Add(BootNow().ms - begin);
  }  // else the disk takes nothing: that is not slow, and the agent says so itself (control/state_disk.h)
  return times_.Conditions(folder_);
}

int WriteALittle(const std::string& folder) {
  const std::string path = folder + "/.glim-health-write";
  const std::array<char, kBytes> bytes{};
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  const bool written = file && ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
                       ::fsync(file.get()) == 0;
  (void)::unlink(path.c_str());
  return written ? 0 : 1;
}

}  // namespace glim::nodeagent::health
