#include "nodeagent/devices/rank_places.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <system_error>

#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::uint32_t kCpusMax = 1024;
constexpr std::uint32_t kNodesMax = 1024;
constexpr std::size_t kGpusMax = 64;
constexpr std::size_t kListBytesMax = 16 << 10;
constexpr std::size_t kNumaNumberBytesMax = 64;

std::vector<std::uint32_t> Both(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  std::vector<std::uint32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

std::vector<std::string> FoldersIn(const std::string& path, std::size_t max) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  if (names.size() > max) names.resize(max);
  return names;
}

bool ReadNumber(const std::string& text, std::uint32_t* number, std::uint32_t below) {
  if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != std::string::npos) return false;
  *number = static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
  return *number < below;
}

}  // namespace

std::vector<std::uint32_t> ParseCpuList(const std::string& text) {
  std::set<std::uint32_t> cpus;
  std::istringstream ranges(text.substr(0, text.find('\n')));
  for (std::string range; std::getline(ranges, range, ',');) {
    const std::size_t dash = range.find('-');
    std::uint32_t first = 0, last = 0;
    if (!ReadNumber(range.substr(0, dash), &first, kCpusMax)) return {};
    last = first;
    if (dash != std::string::npos && !ReadNumber(range.substr(dash + 1), &last, kCpusMax)) return {};
    for (std::uint32_t cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  return {cpus.begin(), cpus.end()};
}

std::vector<std::uint32_t> AllowedCpus() {
  std::vector<std::uint32_t> cpus;
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (std::uint32_t cpu = 0; cpu < kCpusMax; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

NodeTopology ReadTopology(const std::string& root) {
  NodeTopology topology;
  const std::string nodes = root + "/sys/devices/system/node", gpus = root + "/proc/driver/nvidia/gpus";
  for (const std::string& name : FoldersIn(nodes, kNodesMax)) {
    NumaNode node;
    if (!name.starts_with("node") || !ReadNumber(name.substr(4), &node.id, kNodesMax)) continue;
    const auto list = ReadFile(nodes + "/" + name + "/cpulist", kListBytesMax);
    if (list.ok()) node.cpus = ParseCpuList(*list);
    if (!node.cpus.empty()) topology.nodes.push_back(std::move(node));
  }
  // The folders are named by PCI address, in digits of equal width: their order is that of the addresses.
  for (const std::string& address : FoldersIn(gpus, kGpusMax)) {
    const auto node = ReadFile(root + "/sys/bus/pci/devices/" + address + "/numa_node", kNumaNumberBytesMax);
    std::uint32_t id = 0;
    const bool known = node.ok() && ReadNumber(node->substr(0, node->find('\n')), &id, kNodesMax);
    topology.gpus.push_back(known ? std::int64_t{id} : -1);
  }
  return topology;
}

std::vector<RankPlace> PlaceRanks(const NodeTopology& topology, const PlaceWishes& wishes) {
  std::vector<RankPlace> places(wishes.ranks);
  if (topology.nodes.size() < 2 || wishes.ranks > topology.gpus.size()) return places;
  std::map<std::int64_t, std::vector<std::uint32_t>> cpus;
  for (const NumaNode& node : topology.nodes) {
    cpus[node.id] = wishes.allowed.empty() ? node.cpus : Both(node.cpus, wishes.allowed);
  }
  std::set<std::uint32_t> together;
  bool all_bound = true;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto beside = cpus.find(topology.gpus[i]);
    if (beside == cpus.end() || beside->second.empty()) {
      all_bound = false;
      continue;
    }
    places[i] = {beside->second, {static_cast<std::uint32_t>(beside->first)}};
    together.insert(beside->second.begin(), beside->second.end());
  }
  const auto has = static_cast<std::int64_t>(together.size()) * 1000;
  if (all_bound && wishes.cpu_millis > has) return std::vector<RankPlace>(wishes.ranks);
  return places;
}

}  // namespace glim::nodeagent
