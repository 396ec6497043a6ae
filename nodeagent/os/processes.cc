#include "nodeagent/os/processes.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>

#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kStatBytesMax = 16 * 1024;
constexpr std::size_t kEnvironBytesMax = 8 * 1024 * 1024;

// Whether the zero-separated block holds exactly `entry`.
bool HasEntry(const std::string& block, const std::string& entry) {
  for (std::size_t at = block.find(entry); at != std::string::npos; at = block.find(entry, at + 1)) {
    const std::size_t end = at + entry.size();
    if ((at == 0 || block[at - 1] == '\0') && (end == block.size() || block[end] == '\0')) return true;
  }
  return false;
}

std::vector<ProcessInfo> Below(const std::vector<ProcessInfo>& all, std::set<pid_t> found, bool with_roots) {
  std::multimap<pid_t, const ProcessInfo*> children;
  for (const ProcessInfo& process : all) children.emplace(process.parent, &process);
  std::vector<pid_t> queue(found.begin(), found.end());
  const std::set<pid_t> roots = found;
  while (!queue.empty()) {
    const pid_t parent = queue.back();
    queue.pop_back();
    auto [begin, end] = children.equal_range(parent);
    for (auto it = begin; it != end; ++it) {
      if (found.insert(it->second->pid).second) queue.push_back(it->second->pid);
    }
  }
  std::vector<ProcessInfo> result;
  for (const ProcessInfo& process : all) {
    if (found.contains(process.pid) && (with_roots || !roots.contains(process.pid))) result.push_back(process);
  }
  return result;
}

}  // namespace

Result<std::string> ReadBootId() {
  Result<std::string> id = ReadFile("/proc/sys/kernel/random/boot_id", 256);
  if (!id.ok()) return id;
  std::string text = *id;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::optional<ProcessInfo> ReadProcess(pid_t pid) {
  const Result<std::string> stat = ReadFile("/proc/" + std::to_string(pid) + "/stat", kStatBytesMax);
  if (!stat.ok()) return std::nullopt;
  // The second field is the command's name in brackets and may hold anything, brackets and blanks too.
  const std::size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat->substr(name_end + 1));
  std::string field;
  ProcessInfo info;
  info.pid = pid;
  char state = 0;
  long threads = 0;
  for (int number = 3; number <= 22 && fields >> field; ++number) {
    if (number == 3) state = field[0];
    if (number == 4) info.parent = static_cast<pid_t>(std::strtol(field.c_str(), nullptr, 10));
    if (number == 20) threads = std::strtol(field.c_str(), nullptr, 10);
    if (number == 22) info.start_ticks = std::strtoull(field.c_str(), nullptr, 10);
  }
  info.gone = state == 'X' || (state == 'Z' && threads <= 1);
  return info;
}

std::string ProgramNameOf(pid_t pid) {
  const Result<std::string> name = ReadFile("/proc/" + std::to_string(pid) + "/comm", kStatBytesMax);
  return name.ok() ? name->substr(0, name->find('\n')) : "";
}

std::vector<ProcessInfo> ListProcesses() {
  std::vector<ProcessInfo> processes;
  DIR* folder = ::opendir("/proc");
  if (!folder) return processes;
  while (const dirent* entry = ::readdir(folder)) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (pid <= 0 || *end != '\0') continue;
    if (auto info = ReadProcess(static_cast<pid_t>(pid)); info && !info->gone) processes.push_back(*info);
  }
  ::closedir(folder);
  return processes;
}

int OpenPidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

bool IsOver(int pidfd) {
  pollfd ended{pidfd, POLLIN, 0};
  return ::poll(&ended, 1, 0) > 0;
}

UniqueFd OpenProcess(const ProcessIdentity& identity, const std::string& boot_id_now) {
  if (identity.pid <= 0 || identity.boot_id != boot_id_now) return UniqueFd();
  UniqueFd fd(OpenPidfd(identity.pid));
  if (!fd) return fd;
  // Looked at after the descriptor was taken: if it is the same process now, the descriptor is that process's.
  const auto info = ReadProcess(identity.pid);
  if (!info || info->gone || info->start_ticks != identity.start_ticks) return UniqueFd();
  return fd;
}

std::vector<ProcessInfo> Descendants(const std::vector<ProcessInfo>& all, pid_t root) {
  return Below(all, {root}, false);
}

std::vector<ProcessInfo> WithDescendants(const std::vector<ProcessInfo>& all, const std::set<pid_t>& roots) {
  return roots.empty() ? std::vector<ProcessInfo>() : Below(all, roots, true);
}

std::vector<ProcessInfo> Marked(const std::vector<ProcessInfo>& all, const std::string& marker) {
  std::set<pid_t> roots;
  for (const ProcessInfo& process : all) {
    const auto block = ReadFile("/proc/" + std::to_string(process.pid) + "/environ", kEnvironBytesMax);
    if (block.ok() && HasEntry(*block, marker)) roots.insert(process.pid);
  }
  return WithDescendants(all, roots);
}

bool SignalProcess(const ProcessInfo& process, int signal) {
  UniqueFd fd(OpenPidfd(process.pid));
  if (!fd) return false;
  const auto now = ReadProcess(process.pid);
  if (!now || now->start_ticks != process.start_ticks) return false;
  return ::syscall(SYS_pidfd_send_signal, fd.get(), signal, nullptr, 0) == 0;
}

bool QueueSignal(int pidfd, int signal, int value) {
  siginfo_t info{};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_int = value;
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, &info, 0) == 0;
}

}  // namespace glim::nodeagent
