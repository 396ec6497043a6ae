#include "nodeagent/confinement/control_groups.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <sstream>

#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kRoot = "/sys/fs/cgroup";
constexpr std::size_t kProcsBytesMax = 1024 * 1024;

// Where the tree or trees of groups begin.
std::vector<std::string> Trees() {
  std::error_code error;
  std::vector<std::string> trees = {kRoot};
  if (std::filesystem::exists(std::string(kRoot) + "/cgroup.controllers", error)) return trees;
  for (std::filesystem::directory_iterator it(kRoot, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_symlink(error)) trees.push_back(it->path().string());
  }
  return trees;
}

// The deepest first; none where there is no such group.
std::vector<std::string> GroupsUpTo(const std::string& group) {
  std::error_code error, gone;
  if (!std::filesystem::exists(group, error)) return {};
  std::vector<std::string> groups = {group};
  for (std::filesystem::recursive_directory_iterator it(group, error), end; !error && it != end; it.increment(error)) {
    if (it->is_directory(gone)) groups.push_back(it->path().string());
  }
  std::reverse(groups.begin(), groups.end());
  return groups;
}

void KillAllIn(const std::string& group) {
  const auto pids = ReadFile(group + "/cgroup.procs", kProcsBytesMax);
  if (!pids.ok()) return;
  std::istringstream lines(*pids);
  for (pid_t pid = 0; lines >> pid;) {
    if (pid > 1) ::kill(pid, SIGKILL);  // listed a moment ago, by a group that is ours alone
  }
}

}  // namespace

bool RemoveControlGroup(const std::string& path) {
  bool gone = true;
  for (const std::string& tree : Trees()) {
    for (const std::string& group : GroupsUpTo(tree + path)) {
      if (::rmdir(group.c_str()) == 0) continue;
      KillAllIn(group);
      gone = (::rmdir(group.c_str()) == 0 || errno == ENOENT) && gone;
    }
  }
  return gone;
}

void RemoveEmptyControlGroup(const std::string& path) {
  for (const std::string& tree : Trees()) {
    for (const std::string& group : GroupsUpTo(tree + path)) (void)::rmdir(group.c_str());
  }
}

std::vector<std::string> ControlGroupsIn(const std::string& parent) {
  std::set<std::string> names;
  std::error_code error;
  for (const std::string& tree : Trees()) {
    std::error_code missing;
    for (std::filesystem::directory_iterator it(tree + parent, missing), end; !missing && it != end;
         it.increment(missing)) {
      if (it->is_directory(error)) names.insert(it->path().filename().string());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace glim::nodeagent
