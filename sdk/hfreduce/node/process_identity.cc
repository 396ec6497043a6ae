#include "sdk/hfreduce/node/process_identity.h"
#include "sdk/io/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace glim::hfreduce {
namespace {

constexpr int kStartTimeField = 22;  // proc(5)

// 0: no such process, or it holds nothing any more.
std::uint64_t StartTicksOf(std::int32_t pid) {
  const UniqueFd file(::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return 0;
  char text[1024];
  const ssize_t length = ::read(file.get(), text, sizeof(text) - 1);
  if (length <= 0) return 0;
  text[length] = '\0';
  // The second field is the command's name in brackets and may hold anything, brackets and blanks too.
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] == '\0') return 0;
  at += 2;
  const char state = *at;
  if (state == 'X' || state == 'Z') return 0;
  for (int field = 3; field < kStartTimeField; ++field) {
    at = std::strchr(at, ' ');
    if (at == nullptr) return 0;
    ++at;
  }
  return std::strtoull(at, nullptr, 10);
}

}  // namespace

ProcessIdentity ThisProcess() {
  const auto pid = static_cast<std::int32_t>(::getpid());
  return {pid, StartTicksOf(pid)};
}

bool IsAlive(const ProcessIdentity& process) {
  return process.pid > 0 && process.start_ticks != 0 && StartTicksOf(process.pid) == process.start_ticks;
}

}  // namespace glim::hfreduce
