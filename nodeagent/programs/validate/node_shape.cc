#include "nodeagent/programs/validate/node_shape.h"

#include <dirent.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "nodeagent/validate/cpu_list.h"
#include "sdk/io/read_file.h"

namespace glim::validate {
namespace {

constexpr std::size_t kSmallFileMax = 64 << 10;
constexpr int kCpusMax = 4096;
constexpr char kNodes[] = "/sys/devices/system/node";

std::string TextOfFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kSmallFileMax);
  return text.ok() ? *text : "";
}

// Of a control group's file; none for "max" and for a file that is not there.
std::optional<std::int64_t> AmountIn(const std::string& path) {
  const std::string text = TextOfFile(path);
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  return std::strtoll(text.c_str(), nullptr, 10);
}

// Folders in which this process' limit of memory may stand, for both versions of control groups.
std::vector<std::string> MemoryGroups() {
  std::vector<std::string> folders = {"/sys/fs/cgroup", "/sys/fs/cgroup/memory"};
  std::istringstream lines(TextOfFile("/proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) folders.push_back("/sys/fs/cgroup" + path);
    if (controllers == "memory") folders.push_back("/sys/fs/cgroup/memory" + path);
  }
  return folders;
}

std::int64_t LeftByGroups() {
  std::int64_t left = std::numeric_limits<std::int64_t>::max();
  for (const std::string& folder : MemoryGroups()) {
    for (const auto& [limit, used] :
         {std::pair("/memory.max", "/memory.current"), std::pair("/memory.limit_in_bytes", "/memory.usage_in_bytes")}) {
      const auto most = AmountIn(folder + limit);
      if (most) left = std::min(left, std::max<std::int64_t>(0, *most - AmountIn(folder + used).value_or(0)));
    }
  }
  return left;
}

std::int64_t Available() {
  std::istringstream lines(TextOfFile("/proc/meminfo"));
  for (std::string name, rest; lines >> name && std::getline(lines, rest);) {
    if (name == "MemAvailable:") return std::strtoll(rest.c_str(), nullptr, 10) << 10;
  }
  return 0;
}

}  // namespace

std::vector<int> AllowedCpus() {
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(kCpusMax), [](cpu_set_t* s) { CPU_FREE(s); });
  const std::size_t bytes = CPU_ALLOC_SIZE(kCpusMax);
  CPU_ZERO_S(bytes, set.get());
  std::vector<int> cpus;
  if (::sched_getaffinity(0, bytes, set.get()) != 0) return cpus;
  for (int cpu = 0; cpu < kCpusMax; ++cpu) {
    if (CPU_ISSET_S(cpu, bytes, set.get())) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<NumaNode> NumaNodesHere() {
  const std::vector<int> allowed = AllowedCpus();
  std::vector<NumaNode> nodes;
  for (const int number : ParseCpuList(TextOfFile(std::string(kNodes) + "/has_memory"))) {
    NumaNode node{.number = number, .cpus = {}};
    for (const int cpu :
         ParseCpuList(TextOfFile(std::string(kNodes) + "/node" + std::to_string(number) + "/cpulist"))) {
      if (std::binary_search(allowed.begin(), allowed.end(), cpu)) node.cpus.push_back(cpu);
    }
    nodes.push_back(std::move(node));
  }
  const bool any = std::any_of(nodes.begin(), nodes.end(), [](const NumaNode& node) { return !node.cpus.empty(); });
  if (!any) return {{.number = 0, .cpus = allowed}};
  return nodes;
}

bool PinTo(int cpu) {
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(kCpusMax), [](cpu_set_t* s) { CPU_FREE(s); });
  const std::size_t bytes = CPU_ALLOC_SIZE(kCpusMax);
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(cpu, bytes, set.get());
  return ::sched_setaffinity(0, bytes, set.get()) == 0;
}

std::int64_t MemoryForUs() { return std::min(Available(), LeftByGroups() / 2); }

}  // namespace glim::validate
