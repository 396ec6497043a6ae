#include "nodeagent/programs/health/kernel_log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "nodeagent/os/boot_clock.h"
#include "nodeagent/programs/health/source_thread.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent::health {
namespace {

constexpr const char* kName = "kernel log";
constexpr std::size_t kRecordBytesMax = 16'384;  // more than the kernel's longest
constexpr std::int64_t kWaitMs = 1000;
constexpr std::int64_t kFileWaitMs = 100;
// Without a saved place: a fault of long before is not this agent's to tell.
constexpr std::int64_t kOldestUsec = 600'000'000;

// The kernel's log has times of a clock that stands still while the machine sleeps.
std::int64_t MonotonicUsec() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

}  // namespace

KernelLog::KernelLog(std::string path, bool memory_counters, std::chrono::milliseconds again, Journal& journal)
    : path_(std::move(path)), memory_counters_(memory_counters), again_(again), journal_(journal) {
  std::thread([this] { Run(); }).detach();
}

void KernelLog::Run() {
  for (;; std::this_thread::sleep_for(again_)) {
    UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0) {
      Refuse(errno);
      continue;
    }
    Kind kind = S_ISCHR(info.st_mode) ? Kind::kDevice : Kind::kFile;
    if (S_ISFIFO(info.st_mode)) {
      kind = Kind::kPipe;
      fd.Reset(::open(path_.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));  // no end of it when a writer goes
      if (!fd) {
        Refuse(errno);
        continue;
      }
    }
    journal_.SetConditions(kName, {});
    looked_ = true;
    Follow(fd.get(), kind);
  }
}

void KernelLog::Refuse(int error) {
  journal_.SetConditions(kName, {BlindTo(kName, "cannot read " + path_ + ": " + std::strerror(error))});
  looked_ = true;
}

void KernelLog::Follow(int fd, Kind kind) {
  KernelReader::Begin begin;
  begin.after = kind == Kind::kPipe ? std::nullopt : journal_.KernelSeq();
  begin.oldest_usec = kind == Kind::kDevice ? MonotonicUsec() - kOldestUsec : 0;
  begin.numbered = kind != Kind::kPipe;
  begin.memory_counters = memory_counters_;
  KernelReader reader(begin);
  for (;;) {
    const int error = Read(fd, kind, reader);
    const std::int64_t now = BootNow().ms;
    std::vector<Finding> due = reader.Due(now);
    journal_.TakeKernel(std::move(due), reader.position());
    if (error == 0) continue;
    if (error != EAGAIN) return Refuse(error);
    const std::int64_t wait = std::clamp<std::int64_t>(reader.NextDue().value_or(now + kWaitMs) - now, 1, kWaitMs);
    pollfd entry{fd, POLLIN, 0};
    // A file is always readable.
    if (kind == Kind::kFile) {
      std::this_thread::sleep_for(std::chrono::milliseconds(std::min(wait, kFileWaitMs)));
    } else {
      (void)::poll(&entry, 1, static_cast<int>(wait));
    }
  }
}

// Returns 0, or errno, EAGAIN when there is nothing now. The device gives one record at a time. EPIPE: the next ones
// are gone; the numbers of those that follow tell how many.
int KernelLog::Read(int fd, Kind kind, KernelReader& reader) {
  std::array<char, kRecordBytesMax> buffer;
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  if (size < 0) return errno == EPIPE || errno == EINTR ? 0 : errno;
  if (size == 0) return EAGAIN;
  const std::string_view read(buffer.data(), static_cast<std::size_t>(size));
  const std::int64_t now = BootNow().ms;
  if (kind == Kind::kDevice) {
    reader.Read(read, now);
    return 0;
  }
  for (const char c : read) {
    if (c != '\n') {
      if (line_.size() < kRecordBytesMax) line_ += c;
      continue;
    }
    reader.Read(line_, now);
    line_.clear();
  }
  return 0;
}

}  // namespace glim::nodeagent::health
