#include "nodeagent/hardware/node_parts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <sstream>
#include <utility>

namespace glim::nodeagent {
namespace {

constexpr int kArphrdInfiniband = 32;
constexpr std::int64_t kSectorBytes = 512;  // of /sys/class/block/*/size, whatever the disk's own are

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// "200 Gb/sec (4X HDR)"
std::int64_t RateOf(const std::string& text) {
  double gigabits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gigabits);
  return error == std::errc() && gigabits > 0 ? static_cast<std::int64_t>(gigabits * 1000) : 0;
}

// "4: ACTIVE"
std::string StateOf(const std::string& text) {
  const std::size_t colon = text.find(": ");
  const std::string word = Lower(colon == std::string::npos ? text : text.substr(colon + 2));
  return word == "active" ? "up" : word;
}

void AddPorts(const SysTree& tree, const std::string& device, std::vector<NicPart>* nics) {
  const std::string folder = "sys/class/infiniband/" + device;
  const std::vector<std::string> ports = tree.Names(folder + "/ports");
  for (const std::string& port : ports) {
    const std::string place = folder + "/ports/" + port;
    NicPart nic;
    nic.name = ports.size() == 1 ? device : device + "/" + port;
    nic.kind = tree.Text(place + "/link_layer") == "InfiniBand" ? "infiniband" : "roce";
    nic.state = StateOf(tree.Text(place + "/state"));
    nic.rate_mbps = RateOf(tree.Text(place + "/rate"));
    nic.pci = tree.PciOf(folder + "/device");
    nic.numa_node = tree.NumaNodeOf(nic.pci);
    nics->push_back(std::move(nic));
  }
}

// The value of the first line "key : value".
std::string ValueOf(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (colon > 0 && name == key) return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

void AddCpus(const SysTree& tree, NodeParts* parts) {
  const std::string cpuinfo = tree.Text("proc/cpuinfo");
  parts->cpu_model = ValueOf(cpuinfo, "model name");
  if (parts->cpu_model.empty()) parts->cpu_model = ValueOf(cpuinfo, "CPU implementer");  // of Arm, which tells no more
  const std::string folder = "sys/devices/system/cpu";
  parts->cpus = CountOfList(tree.Text(folder + "/online"));
  std::set<std::int64_t> sockets;
  std::set<std::pair<std::int64_t, std::int64_t>> cores;
  for (const std::string& name : tree.Names(folder)) {
    const bool is_cpu = name.size() > 3 && name.starts_with("cpu") && std::isdigit(static_cast<unsigned char>(name[3]));
    if (!is_cpu || !tree.Has(folder + "/" + name + "/topology")) continue;
    const std::int64_t socket = tree.Number(folder + "/" + name + "/topology/physical_package_id");
    sockets.insert(socket);
    cores.emplace(socket, tree.Number(folder + "/" + name + "/topology/core_id"));
  }
  parts->sockets = static_cast<std::uint32_t>(sockets.size());
  parts->cores = static_cast<std::uint32_t>(cores.size());
  parts->numa_nodes = CountOfList(tree.Text("sys/devices/system/node/online"));
}

}  // namespace

std::vector<NicPart> FindNics(const SysTree& tree) {
  std::vector<NicPart> nics;
  for (const std::string& device : tree.Names("sys/class/infiniband")) AddPorts(tree, device, &nics);
  for (const std::string& name : tree.Names("sys/class/net")) {
    const std::string folder = "sys/class/net/" + name;
    if (!tree.Has(folder + "/device") || tree.Number(folder + "/type") == kArphrdInfiniband) continue;
    NicPart nic;
    nic.name = name;
    nic.kind = "ethernet";
    nic.state = tree.Text(folder + "/operstate");
    nic.rate_mbps = std::max<std::int64_t>(0, tree.Number(folder + "/speed"));
    nic.pci = tree.PciOf(folder + "/device");
    nic.numa_node = tree.NumaNodeOf(nic.pci);
    nics.push_back(std::move(nic));
  }
  return nics;
}

std::vector<DiskPart> FindDisks(const SysTree& tree) {
  std::vector<DiskPart> disks;
  for (const std::string& name : tree.Names("sys/class/block")) {
    const std::string folder = "sys/class/block/" + name;
    const bool is_whole = tree.Has(folder + "/device") && !tree.Has(folder + "/partition");
    const bool is_taken_out = name.starts_with("sr") || name.starts_with("fd");  // what people put in and take out
    if (!is_whole || is_taken_out || tree.Number(folder + "/hidden") == 1) continue;
    DiskPart disk;
    disk.name = name;
    disk.model = tree.Text(folder + "/device/model");
    disk.bytes = std::max<std::int64_t>(0, tree.Number(folder + "/size")) * kSectorBytes;
    disk.rotational = tree.Number(folder + "/queue/rotational") == 1;
    disks.push_back(std::move(disk));
  }
  return disks;
}

std::string DriverVersionIn(const std::string& text) {
  std::istringstream words(text.substr(0, text.find('\n')));
  for (std::string word; words >> word;) {
    const bool is_version = word.find('.') != std::string::npos && std::all_of(word.begin(), word.end(), [](char c) {
                              return std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
                            });
    if (is_version) return word;
  }
  return "";
}

NodeParts FindParts(const SysTree& tree) {
  NodeParts parts;
  parts.nics = FindNics(tree);
  parts.disks = FindDisks(tree);
  AddCpus(tree, &parts);
  const std::string memory = ValueOf(tree.Text("proc/meminfo"), "MemTotal");  // "1056471508 kB"
  std::int64_t kib = 0;
  std::from_chars(memory.data(), memory.data() + memory.size(), kib);
  parts.memory_bytes = kib * 1024;
  parts.kernel = tree.Text("proc/sys/kernel/osrelease");
  parts.gpu_driver = DriverVersionIn(tree.Text("proc/driver/nvidia/version"));
  parts.bus_gpus = tree.GpusOnTheBus();
  return parts;
}

}  // namespace glim::nodeagent
