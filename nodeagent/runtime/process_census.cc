#include "nodeagent/runtime/process_census.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "sdk/io/read_file.h"
#include "sdk/task_environment/variables.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kEnvironBytesMax = 8 * 1024 * 1024;
constexpr std::size_t kProcStatusBytesMax = 64 * 1024;
constexpr std::chrono::milliseconds kPauseMin{20};
constexpr int kShare = 20;

// What the zero-separated block says of the variable; empty: nothing.
std::string ValueIn(const std::string& block, const std::string& name) {
  const std::string prefix = name + "=";
  for (std::size_t at = 0; at < block.size();) {
    const std::size_t end = std::min(block.find('\0', at), block.size());
    if (block.compare(at, prefix.size(), prefix) == 0)
      return block.substr(at + prefix.size(), end - at - prefix.size());
    at = end + 1;
  }
  return "";
}

// Who started it, also of a program that took another user's rights.
uid_t RealUser(pid_t pid) {
  const Result<std::string> status = ReadFile("/proc/" + std::to_string(pid) + "/status", kProcStatusBytesMax);
  const std::size_t at = status.ok() ? status->find("\nUid:") : std::string::npos;
  return at == std::string::npos ? static_cast<uid_t>(-1)
                                 : static_cast<uid_t>(std::strtoul(status->c_str() + at + 5, nullptr, 10));
}

}  // namespace

void ProcessCensus::LookIfDue() {
  const Clock::time_point begin = Clock::now();
  if (begin < next_) return;
  ++looks_;
  marked_.clear();
  all_ = ListProcesses();
  for (const ProcessInfo& process : all_) Mark(process);
  const Clock::time_point end = Clock::now();
  next_ = end + std::max<Clock::duration>(kPauseMin, kShare * (end - begin));
}

void ProcessCensus::Mark(const ProcessInfo& process) {
  const auto block = ReadFile("/proc/" + std::to_string(process.pid) + "/environ", kEnvironBytesMax);
  if (!block.ok()) return;
  const std::string socket = ValueIn(*block, NameOf(TaskVariable::kSocket));
  if (!socket.empty()) marked_[socket].emplace(process.pid, RealUser(process.pid));
}

std::vector<ProcessInfo> ProcessCensus::Of(const std::string& socket, pid_t shim, const std::set<uid_t>& users) {
  LookIfDue();
  std::set<pid_t> roots;
  if (const auto it = marked_.find(socket); it != marked_.end()) {
    for (const auto& [pid, by] : it->second) {
      if (users.contains(by)) roots.insert(pid);
    }
  }
  std::vector<ProcessInfo> found = WithDescendants(all_, roots);
  if (shim <= 0) return found;
  std::set<pid_t> known;
  for (const ProcessInfo& process : found) known.insert(process.pid);
  for (const ProcessInfo& process : Descendants(all_, shim)) {
    if (known.insert(process.pid).second) found.push_back(process);
  }
  return found;
}

std::vector<ProcessInfo> ProcessCensus::BegunSince(std::uint64_t ticks, const std::string& socket,
                                                   const std::set<uid_t>& users) {
  LookIfDue();
  std::set<pid_t> others;
  for (const auto& [other, pids] : marked_) {
    if (other == socket) continue;
    for (const auto& [pid, by] : pids) others.insert(pid);
  }
  others.insert(::getpid());
  std::set<pid_t> left_out;
  for (const ProcessInfo& process : WithDescendants(all_, others)) left_out.insert(process.pid);
  std::map<pid_t, pid_t> parents;
  for (const ProcessInfo& process : all_) parents.emplace(process.pid, process.parent);
  for (pid_t above = ::getppid(); above > 0 && left_out.insert(above).second;) {
    const auto it = parents.find(above);
    above = it == parents.end() ? 0 : it->second;
  }
  std::vector<ProcessInfo> found;
  for (const ProcessInfo& process : all_) {
    const bool fits = process.start_ticks >= ticks && !left_out.contains(process.pid);
    if (fits && users.contains(RealUser(process.pid))) found.push_back(process);
  }
  return found;
}

}  // namespace glim::nodeagent
