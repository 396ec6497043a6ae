// glim-health --kmsg PATH --root PATH --state FILE [--folder FOLDER]... [--nvml LIBRARY] [--smartctl PROGRAM]
// [--smart-every SECONDS] [--hurry N]: started by glim-agent, never by hand. It looks after the node's hardware, and
// writes a line for each event and each condition that begins or ends to its standard output
// (nodeagent/health/wire/health_line.h). Each source is read on a thread of its own; the main thread numbers, keeps and
// tells what they find, and says every few seconds that it is there.
// glim-health --write FOLDER: writes a little there, and ends.
// glim-health --serve smart: asks disks for the one that started it (smart_helper.h).
//
// It ends on SIGTERM, or when nobody reads it any more. Threads that hang are left to the kernel.
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nodeagent/os/boot_clock.h"
#include "nodeagent/os/processes.h"
#include "nodeagent/programs/health/card_source.h"
#include "nodeagent/programs/health/disk_source.h"
#include "nodeagent/programs/health/gpu_source.h"
#include "nodeagent/programs/health/health_options.h"
#include "nodeagent/programs/health/journal.h"
#include "nodeagent/programs/health/kernel_folder.h"
#include "nodeagent/programs/health/kernel_log.h"
#include "nodeagent/programs/health/memory_source.h"
#include "nodeagent/programs/health/port_source.h"
#include "nodeagent/programs/health/privileges.h"
#include "nodeagent/programs/health/smart_helper.h"
#include "nodeagent/programs/health/smart_source.h"
#include "nodeagent/programs/health/write_probe.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::chrono::seconds kAliveEvery{5};
constexpr std::chrono::milliseconds kTurn{1000};
constexpr std::chrono::seconds kLogAgain{10};

std::atomic<bool> ends = false;

void OnSignal(int) { ends = true; }

// False: nobody reads it.
bool Tell(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

// Without waiting for something to tell.
bool IsHeard() {
  pollfd entry{STDOUT_FILENO, 0, 0};
  return ::poll(&entry, 1, 0) <= 0 || (entry.revents & POLLERR) == 0;
}

std::string AliveLine(const Journal& journal, bool complete) {
  HealthLine line;
  line.boot = journal.boot();
  line.complete = complete;
  return ToText(line);
}

Result<std::string> BootOf(const HealthOptions& options) {
  const auto text = KernelFolder(options.root + "/proc/sys/kernel/random").Text("boot_id");
  return text ? Result<std::string>(*text) : ReadBootId();
}

// Until it is told to end.
[[noreturn]] void Watch(const HealthOptions& options, SmartHelper smart, Journal& journal) {
  std::vector<std::unique_ptr<SourceThread>> sources;
  KernelLog log(options.kmsg, CountsMemoryErrors(options), options.Every(kLogAgain), journal);
  for (const auto make : {PortSource, MemorySource, CardSource, DiskSource, WriteSource, GpuSource}) {
    sources.push_back(std::make_unique<SourceThread>(make(options), journal));
  }
  sources.push_back(std::make_unique<SourceThread>(SmartSource(options, std::move(smart)), journal));
  if (!Tell(journal.KeptLines())) ::_exit(0);  // threads use what a return would destroy
  bool complete = false;
  for (std::int64_t alive_ms = 0; !ends && IsHeard();) {
    std::vector<Finding> blind;
    bool all = log.has_looked();
    for (const auto& source : sources) {
      std::optional<Finding> finding = source->Blind();
      all = all && (source->has_looked() || finding);
      if (finding) blind.push_back(std::move(*finding));
    }
    journal.SetConditions("glim-health", std::move(blind));
    if (!Tell(journal.TakeLines())) break;
    const std::int64_t now = BootNow().ms;
    const bool news = all && !complete;
    complete = complete || all;
    if (news || now - alive_ms >= std::chrono::milliseconds(kAliveEvery).count()) {
      if (!Tell(AliveLine(journal, complete))) break;
      alive_ms = now;
    }
    journal.Wait(complete ? kTurn : kTurn / 10);
  }
  (void)Tell(journal.TakeLines(true));
  ::_exit(0);
}

int Main(int argc, char** argv) {
  ::umask(077);
  ::signal(SIGPIPE, SIG_IGN);
  const Result<HealthOptions> options = ParseHealthOptions(argc, argv);
  if (!options.ok()) {
    std::fprintf(stderr, "glim-health: %s\n", options.status().message().c_str());
    return 2;
  }
  if (!options->write.empty()) return WriteALittle(options->write);
  if (!options->serve.empty()) return ServeSmart(*options);
  ::signal(SIGTERM, OnSignal);
  SmartHelper smart = SmartHelper::Start(*options);
  if (Status status = LeavePrivileges({CAP_SYSLOG}); !status.ok()) {
    std::fprintf(stderr, "glim-health: %s\n", status.message().c_str());
    return 1;
  }
  const Result<std::string> boot = BootOf(*options);
  if (!boot.ok()) {
    std::fprintf(stderr, "glim-health: %s\n", boot.status().message().c_str());
    return 1;
  }
  auto journal = std::make_unique<Journal>(options->state, *boot);
  Watch(*options, std::move(smart), *journal);
}

}  // namespace
}  // namespace glim::nodeagent::health

int main(int argc, char** argv) { return glim::nodeagent::health::Main(argc, argv); }
