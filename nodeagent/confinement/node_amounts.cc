#include "nodeagent/confinement/node_amounts.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <vector>

#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kGroups = "/sys/fs/cgroup";
constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kPidsByDefault = 32768;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kNumberBytesMax = 64;

// 0: there is no such number: the file is missing, or says "max".
std::int64_t NumberIn(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kNumberBytesMax);
  if (!text.ok()) return 0;
  errno = 0;
  const long long number = std::strtoll(text->c_str(), nullptr, 10);
  return errno == 0 && number > 0 ? number : 0;
}

std::int64_t LessUnlessNone(std::int64_t amount, std::int64_t bound) {
  return bound > 0 ? std::min(amount, bound) : amount;
}

bool IsThere(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// What counts memory, and processes: the files that bound them, in the tree where they are. Empty: nothing counts.
struct Counter {
  std::string tree;
  std::string bound;
};
Counter CounterOf(const std::string& controller, const char* bound, const char* bound_in_version_1) {
  const Result<std::string> unified = ReadFile(std::string(kGroups) + "/cgroup.controllers", 4096);
  if (unified.ok()) {
    const bool counts =
        (" " + unified->substr(0, unified->find('\n')) + " ").find(" " + controller + " ") != std::string::npos;
    return counts ? Counter{kGroups, bound} : Counter{};
  }
  const std::string tree = std::string(kGroups) + "/" + controller;
  return IsThere(tree + "/cgroup.procs") ? Counter{tree, bound_in_version_1} : Counter{};
}

std::string InMiB(std::int64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

Status Beyond(const char* field, const std::string& asked, const std::string& given) {
  return InvalidArgument(field, std::string(field) + " " + asked + " is more than a task has on this node, " + given,
                         "ask for at most that, leave it out, or ask for nodes that have more");
}

}  // namespace

std::int64_t LeastBound(const std::string& tree, const std::string& parent, const std::string& name) {
  std::int64_t least = kMost;
  for (std::size_t end = 0; end != std::string::npos && !parent.empty(); end = parent.find('/', end + 1)) {
    least = LessUnlessNone(least, NumberIn(std::string(tree).append(parent, 0, end).append("/").append(name)));
  }
  least = LessUnlessNone(least, NumberIn(tree + parent + "/" + name));
  return least == kMost ? 0 : least;
}

NodeAmounts AmountsOf(const std::string& parent, std::int64_t reserve_bytes) {
  NodeAmounts node;
  struct sysinfo info {};
  if (::sysinfo(&info) == 0) node.memory_total = static_cast<std::int64_t>(info.totalram) * info.mem_unit;
  node.cpu_millis = std::int64_t{1000} * ::sysconf(_SC_NPROCESSORS_ONLN);
  node.pids_total = LessUnlessNone(LessUnlessNone(kMost, NumberIn("/proc/sys/kernel/pid_max")),
                                   NumberIn("/proc/sys/kernel/threads-max"));
  const Counter memory = CounterOf("memory", "memory.max", "memory.limit_in_bytes");
  if (!memory.tree.empty()) {
    const std::int64_t left = std::max(node.memory_total - reserve_bytes, kMiB);
    node.memory_bytes = LessUnlessNone(left, LeastBound(memory.tree, parent, memory.bound));
  }
  const Counter pids = CounterOf("pids", "pids.max", "pids.max");
  if (!pids.tree.empty()) {
    node.pids_total = LessUnlessNone(node.pids_total, LeastBound(pids.tree, parent, pids.bound));
    node.pids = std::min(kPidsByDefault, std::max<std::int64_t>(node.pids_total / 2, 1));
  }
  return node;
}

Status HoldTo(const NodeAmounts& node, TaskLimits* limits) {
  if (node.memory_bytes > 0 && limits->memory_bytes > node.memory_bytes) {
    return Beyond("limits.memory", InMiB(limits->memory_bytes),
                  InMiB(node.memory_bytes) + " of " + InMiB(node.memory_total));
  }
  if (node.cpu_millis > 0 && limits->cpu_millis > node.cpu_millis) {
    return Beyond("limits.cpus", std::to_string(limits->cpu_millis / 1000), std::to_string(node.cpu_millis / 1000));
  }
  if (node.pids_total > 0 && limits->pids > node.pids_total) {
    return Beyond("limits.pids", std::to_string(limits->pids), std::to_string(node.pids_total));
  }
  if (limits->memory_bytes == 0) {
    limits->memory_bytes = node.memory_bytes;
    limits->memory_by_default = true;
  }
  if (limits->memory_bytes > 0 && limits->shm_bytes > limits->memory_bytes) {
    return InvalidArgument("limits.shm",
                           "limits.shm " + InMiB(limits->shm_bytes) + " is more than the task's memory, " +
                               InMiB(limits->memory_bytes) + ", in which /dev/shm counts",
                           "ask for less, or for a larger limits.memory");
  }
  if (limits->pids == 0) limits->pids = node.pids;
  if (limits->shm_bytes == 0) limits->shm_bytes = limits->memory_bytes / 2;
  return Status::Ok();
}

}  // namespace glim::nodeagent
