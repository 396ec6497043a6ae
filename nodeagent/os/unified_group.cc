#include "nodeagent/os/unified_group.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <sstream>

#include "nodeagent/os/processes.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kMountsBytesMax = 16 * 1024 * 1024;
constexpr std::size_t kEventsBytesMax = 4096;
constexpr std::size_t kProcsBytesMax = 4 * 1024 * 1024;
constexpr int kKillPasses = 3;  // without cgroup.kill: who forked meanwhile is met by the next pass

// Where it is mounted whole, the usual places first; empty: nowhere.
std::string FindHierarchy() {
  const Result<std::string> mounts = ReadFile("/proc/self/mountinfo", kMountsBytesMax);
  if (!mounts.ok()) return "";
  std::string found;
  std::istringstream lines(*mounts);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" - cgroup2 ") == std::string::npos) continue;
    std::istringstream words(line);
    std::string id, parent, device, root, place;
    words >> id >> parent >> device >> root >> place;
    if (root != "/" || place.find('\\') != std::string::npos) continue;
    if (found.empty() || place == "/sys/fs/cgroup" || place == "/sys/fs/cgroup/unified") found = place;
  }
  return found;
}

Result<std::string> MountHierarchy() {
  if (Status status = MakeFolders(kOwnHierarchy); !status.ok()) return status;
  if (::mount("cgroup2", kOwnHierarchy, "cgroup2", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0) {
    return std::string(kOwnHierarchy);
  }
  return FileError("mount the unified hierarchy of control groups at", kOwnHierarchy, errno);
}

std::vector<std::string> GroupsBelow(const std::string& folder) {
  std::vector<std::string> groups = {folder};
  std::error_code error, gone;
  for (std::filesystem::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(gone)) groups.push_back(it->path().string());
  }
  return groups;
}

}  // namespace

Result<std::string> OpenGroupParent(const std::string& parent) {
  std::string hierarchy = FindHierarchy();
  if (hierarchy.empty()) {
    Result<std::string> own = MountHierarchy();
    if (!own.ok()) return own.status();
    hierarchy = *own;
  }
  const std::string folder = hierarchy + parent;
  if (Status status = MakeFolders(folder); !status.ok()) return status;
  // A folder that is no group, and a hierarchy that may be read only, are found out now and not by the first task.
  const std::string trial = folder + "/trial";
  if (Status status = MakeGroup(trial); !status.ok()) return status;
  const bool works = LookAtGroup(trial) == GroupState::kEmpty;
  if (!RemoveGroup(trial) || !works) {
    return Status(StatusCode::kFailedPrecondition, folder + " is no control group");
  }
  return folder;
}

Status MakeGroup(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return Status::Ok();
  return FileError("make the control group", folder, errno);
}

GroupState LookAtGroup(const std::string& folder) {
  const Result<std::string> events = ReadFile(folder + "/cgroup.events", kEventsBytesMax);
  if (!events.ok()) {
    // Who cannot be asked is not believed to be empty.
    std::error_code error;
    return std::filesystem::exists(folder, error) || error ? GroupState::kPopulated : GroupState::kNone;
  }
  return ("\n" + *events).find("\npopulated 0") == std::string::npos ? GroupState::kPopulated : GroupState::kEmpty;
}

std::vector<pid_t> GroupMembers(const std::string& folder, std::size_t max) {
  std::vector<pid_t> members;
  for (const std::string& group : GroupsBelow(folder)) {
    const Result<std::string> text = ReadFile(group + "/cgroup.procs", kProcsBytesMax);
    if (!text.ok()) continue;
    std::istringstream lines(*text);
    for (pid_t pid = 0; lines >> pid;) {
      if (members.size() == max) return members;
      if (pid > 0) members.push_back(pid);
    }
  }
  return members;
}

void KillGroup(const std::string& folder) {
  const UniqueFd kill(::open((folder + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  if (kill && ::write(kill.get(), "1", 1) == 1) return;
  for (int pass = 0; pass < kKillPasses && LookAtGroup(folder) == GroupState::kPopulated; ++pass) {
    SignalGroup(folder, SIGKILL);
  }
}

void SignalGroup(const std::string& folder, int signal) {
  for (const pid_t pid : GroupMembers(folder, std::numeric_limits<std::size_t>::max())) {
    if (const auto process = ReadProcess(pid); process && !process->gone) SignalProcess(*process, signal);
  }
}

bool RemoveGroup(const std::string& folder) {
  std::vector<std::string> groups = GroupsBelow(folder);
  // A group is listed before those below it.
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    if (::rmdir(group->c_str()) != 0 && errno != ENOENT) return false;
  }
  return true;
}

}  // namespace glim::nodeagent
