#include "sdk/hfreduce/node/testing/forked.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "sdk/base/testing/waits.h"

namespace glim::hfreduce::testing {
namespace {

// Of the test's own process, also in those that it forks: two runs of a test at a time do not meet.
const std::string kRun = std::to_string(::getpid()) + "-";

constexpr std::chrono::seconds kHang{150};

}  // namespace

Forked::Forked(std::uint32_t count, const std::function<std::string(std::uint32_t rank)>& body) {
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    int ends[2];
    GLIM_CHECK(::pipe(ends) == 0, "pipe");
    const pid_t pid = ::fork();
    GLIM_CHECK(pid >= 0, "fork");
    if (pid == 0) {
      ::close(ends[0]);
      ::alarm(static_cast<unsigned>(Slower(kHang).count()));
      const std::string said = body(rank).substr(0, 4000);
      if (!said.empty()) (void)!::write(ends[1], said.data(), said.size());
      ::_exit(0);
    }
    ::close(ends[1]);
    children_.push_back({pid, ends[0]});
  }
}

Forked::~Forked() {
  for (const Child& child : children_) {
    if (child.pid > 0) {
      ::kill(child.pid, SIGKILL);
      ::waitpid(child.pid, nullptr, 0);
    }
    ::close(child.pipe);
  }
}

void Forked::Signal(std::uint32_t rank, int signal) const { ::kill(children_[rank].pid, signal); }

std::string Forked::Wait(std::uint32_t rank) {
  Child& child = children_[rank];
  if (child.pid <= 0) return "";
  std::string said;
  char text[4096];
  for (ssize_t length = 0; (length = ::read(child.pipe, text, sizeof(text))) > 0;) said.append(text, length);
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  child.pid = 0;
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) return "status " + std::to_string(WEXITSTATUS(status));
  return said;
}

std::string Forked::WaitAll() {
  std::string all;
  for (std::uint32_t rank = 0; rank < children_.size(); ++rank) {
    if (const std::string said = Wait(rank); !said.empty()) all += std::to_string(rank) + ": " + said + "\n";
  }
  return all;
}

SegmentOptions TestOptions(std::uint32_t ranks, std::uint32_t local_rank, const std::string& test) {
  SegmentOptions options;
  options.name = SegmentName("test-" + kRun + test, 0);
  options.session = 1;
  options.ranks = ranks;
  options.local_rank = local_rank;
  options.stage_bytes = 128 << 10;
  options.result_bytes = 128 << 10;
  options.arena_bytes = 16 << 20;
  options.timeout = LongWaitDuration();
  return options;
}

std::vector<std::string> SegmentFilesOf(const std::string& test) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename();
    if (name.find("test-" + kRun + test) != std::string::npos) names.push_back(name);
  }
  return names;
}

int OpenDescriptors() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

}  // namespace glim::hfreduce::testing
