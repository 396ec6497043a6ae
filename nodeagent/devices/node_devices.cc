#include "nodeagent/devices/node_devices.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <system_error>

#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kProcDevicesBytesMax = 64 << 10;
constexpr std::size_t kNumberBytesMax = 64;
constexpr std::size_t kFolderEntriesMax = 4096;

// By the names under which the driver registers itself; later ones name each node, earlier ones all of them.
constexpr const char* kGpuDrivers[] = {"nvidia", "nvidia-frontend", "nvidiactl", "nvidia-modeset"};
constexpr const char* kMemoryDrivers[] = {"nvidia-uvm"};

// The system's own folders of libraries, which every container sees.
constexpr const char* kSeenFolders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                        "/usr/lib"};
// Where installers put the driver that leave the system alone: a driver container, a read-only system.
constexpr const char* kDriverFolders[] = {
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu", "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
    "/run/nvidia/driver/usr/lib64", "/var/lib/nvidia/lib64", "/usr/local/nvidia/lib64"};
// What of the driver a program that computes may load: each of them with what follows its name (".so.1").
constexpr const char* kDriverLibraries[] = {
    "libcuda",          "libcudadebugger",      "libnvidia-ml",     "libnvidia-ptxjitcompiler", "libnvidia-nvvm",
    "libnvidia-opencl", "libnvidia-gpucomp",    "libnvidia-cfg",    "libnvidia-allocator",      "libnvcuvid",
    "libnvoptix",       "libnvidia-pkcs11",     "libnvidia-rtcore", "libnvidia-compiler",       "libnvidia-fbc",
    "libnvidia-encode", "libnvidia-opticalflow"};
constexpr const char* kFirstLibrary = "libcuda.so.1";

// The character devices' numbers by driver.
std::set<std::uint32_t> MajorsOf(const std::string& text, const char* const* begin, const char* const* end) {
  std::set<std::uint32_t> majors;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && line != "Block devices:";) {
    std::istringstream words(line);
    std::uint32_t major = 0;
    std::string name;
    if (words >> major >> name && std::find(begin, end, name) != end) majors.insert(major);
  }
  return majors;
}

std::string InWords(const std::set<std::uint32_t>& majors) {
  std::string text;
  for (const std::uint32_t major : majors) text += (text.empty() ? "" : ", ") + std::to_string(major);
  return text;
}

Status Missing(const std::string& what, const std::string& fix) {
  return Status(StatusCode::kFailedPrecondition, "this node cannot give its GPUs to a task: " + what).WithFix(fix);
}

// Sorted, so that the same node is the same list each time.
std::vector<std::string> NamesIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (names.size() == kFolderEntriesMax) break;
    names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool IsNumber(const std::string& text) {
  return !text.empty() && text.size() <= 4 && text.find_first_not_of("0123456789") == std::string::npos;
}

// "nvidia12" is GPU 12; none: it is something else.
std::optional<int> NumberAfter(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix) || !IsNumber(name.substr(prefix.size()))) return std::nullopt;
  return std::atoi(name.c_str() + prefix.size());
}

Status AddDriverNode(const std::string& root, const std::string& name, const std::set<std::uint32_t>& majors,
                     NodeDevices* devices) {
  const std::string path = "/dev/" + name;
  Result<DeviceNode> node = LookAtDevice(root, path, path);
  if (!node.ok()) {
    return Missing(node.status().message(), "make the driver's nodes: nvidia-modprobe -u -c=0, or nvidia-smi");
  }
  if (node->type != 'c' || !majors.contains(node->major)) {
    return Missing(path + " has the number " + std::to_string(node->major) + ", and the driver has " +
                       (majors.empty() ? "none" : InWords(majors)) + " in /proc/devices",
                   "remove the node and let nvidia-modprobe make it anew");
  }
  devices->nodes.push_back(std::move(*node));
  return Status::Ok();
}

bool IsThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

bool IsDriverLibrary(const std::string& name) {
  return std::any_of(std::begin(kDriverLibraries), std::end(kDriverLibraries), [&](const std::string& library) {
    if (!name.starts_with(library) || name.find(".so", library.size()) == std::string::npos) return false;
    const char next = name[library.size()];
    return next == '.' || next == '-' || (next >= '0' && next <= '9');
  });
}

// The first folder that has the driver's libraries; empty: none has.
std::string LibraryFolderAmong(const std::string& root, std::span<const char* const> folders) {
  for (const char* folder : folders) {
    if (IsThere(root + folder + "/" + kFirstLibrary)) return root + folder;
  }
  return "";
}

void ShowLibraries(const std::string& folder, NodeDevices* devices) {
  for (const std::string& name : NamesIn(folder)) {
    if (!IsDriverLibrary(name)) continue;
    const std::string below = "/" + name;
    devices->files.push_back({folder + below, kDriverTarget + below, true});
  }
  devices->library_folder = kDriverTarget;
}

void AddLibraries(const std::string& root, NodeDevices* devices) {
  if (!LibraryFolderAmong(root, kSeenFolders).empty()) return;
  const std::string folder = LibraryFolderAmong(root, kDriverFolders);
  if (!folder.empty()) return ShowLibraries(folder, devices);
  devices->notes.push_back(std::string("the driver's libraries were not found (") + kFirstLibrary +
                           "): tasks have GPUs and nothing to use them by");
}

}  // namespace

Result<DeviceNode> LookAtDevice(const std::string& root, const std::string& source, const std::string& path) {
  struct stat info {};
  if (::lstat((root + source).c_str(), &info) != 0) {
    return Status(errno == ENOENT ? StatusCode::kNotFound : StatusCode::kFailedPrecondition,
                  errno == ENOENT ? "there is no " + source : source + ": " + std::strerror(errno));
  }
  if (!S_ISCHR(info.st_mode) && !S_ISBLK(info.st_mode)) {
    return Status(StatusCode::kFailedPrecondition, source + " is no device");
  }
  DeviceNode node;
  node.path = path;
  node.source = root + source;
  node.type = S_ISCHR(info.st_mode) ? 'c' : 'b';
  node.major = major(info.st_rdev);
  node.minor = minor(info.st_rdev);
  return node;
}

bool IsSystemPath(const std::string& path) {
  for (const std::string folder : {"/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    if (path == folder || path.starts_with(folder + "/")) return true;
  }
  return false;
}

void ShowDriverLibraries(const std::string& root, NodeDevices* devices) {
  if (!devices->library_folder.empty()) return;
  std::string folder = LibraryFolderAmong(root, kSeenFolders);
  if (folder.empty()) folder = LibraryFolderAmong(root, kDriverFolders);
  if (!folder.empty()) ShowLibraries(folder, devices);
}

Result<NodeDevices> DriverDevices(const std::string& root) {
  NodeDevices devices;
  if (!IsThere(root + "/proc/driver/nvidia")) {
    return Status(StatusCode::kNotFound, "this node cannot give its GPUs to a task: the NVIDIA driver is not loaded")
        .WithFix("load it (modprobe nvidia); or name other devices with --devices");
  }
  const Result<std::string> text = ReadFile(root + "/proc/devices", kProcDevicesBytesMax);
  if (!text.ok()) return text.status();
  const std::set<std::uint32_t> gpus = MajorsOf(*text, std::begin(kGpuDrivers), std::end(kGpuDrivers));
  const std::set<std::uint32_t> memory = MajorsOf(*text, std::begin(kMemoryDrivers), std::end(kMemoryDrivers));
  std::vector<int> numbers;
  for (const std::string& name : NamesIn(root + "/dev")) {
    if (const std::optional<int> number = NumberAfter(name, "nvidia")) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  const std::size_t there = NamesIn(root + "/proc/driver/nvidia/gpus").size();
  if (numbers.empty() || numbers.size() < there) {
    return Missing(
        "the driver has " + std::to_string(there) + " GPUs, and /dev has nodes of " + std::to_string(numbers.size()),
        "make the driver's nodes: nvidia-modprobe -u -c=0, or nvidia-smi");
  }
  for (const int number : numbers) {
    if (Status status = AddDriverNode(root, "nvidia" + std::to_string(number), gpus, &devices); !status.ok()) {
      return status;
    }
  }
  struct Other {
    const char* name;
    const std::set<std::uint32_t>& majors;
    bool needed;
  };
  const Other others[] = {{"nvidiactl", gpus, true},
                          {"nvidia-uvm", memory, true},
                          {"nvidia-uvm-tools", memory, false},
                          {"nvidia-modeset", gpus, false}};
  for (const Other& other : others) {
    if (!other.needed && !IsThere(root + "/dev/" + other.name)) continue;
    if (Status status = AddDriverNode(root, other.name, other.majors, &devices); !status.ok()) return status;
  }
  AddLibraries(root, &devices);
  return devices;
}

NodeDevices FabricDevices(const std::string& root) {
  NodeDevices devices;
  bool card = false;
  for (const std::string& name : NamesIn(root + "/dev/infiniband")) {
    const bool is_card = NumberAfter(name, "uverbs").has_value();
    if (!is_card && name != "rdma_cm") continue;
    const std::string path = "/dev/infiniband/" + name;
    Result<DeviceNode> node = LookAtDevice(root, path, path);
    if (!node.ok()) {
      devices.notes.push_back(node.status().message());
      continue;
    }
    card = card || is_card;
    devices.nodes.push_back(std::move(*node));
  }
  if (!card) devices.nodes.clear();  // rdma_cm alone finds nothing to connect
  devices.locks_memory = card;
  return devices;
}

std::uint64_t ReservedHugePages(const std::string& root) {
  const std::string folder = root + "/sys/kernel/mm/hugepages", prefix = "hugepages-";
  std::uint64_t smallest = 0;
  for (const std::string& name : NamesIn(folder)) {
    if (!name.starts_with(prefix)) continue;
    const Result<std::string> count = ReadFile(folder + "/" + name + "/nr_hugepages", kNumberBytesMax);
    const std::uint64_t kib = std::strtoull(name.c_str() + prefix.size(), nullptr, 10);
    if (!count.ok() || std::strtoull(count->c_str(), nullptr, 10) == 0 || kib == 0) continue;
    if (smallest == 0 || kib < smallest) smallest = kib;
  }
  return smallest;
}

void Join(NodeDevices&& other, NodeDevices* devices) {
  const auto append = [](auto&& from, auto* to) {
    to->insert(to->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  for (DeviceNode& node : other.nodes) {
    const bool known = std::any_of(devices->nodes.begin(), devices->nodes.end(),
                                   [&](const DeviceNode& n) { return n.path == node.path; });
    if (!known) devices->nodes.push_back(std::move(node));
  }
  for (DeviceFile& file : other.files) {
    const bool known = std::any_of(devices->files.begin(), devices->files.end(),
                                   [&](const DeviceFile& f) { return f.target == file.target; });
    if (!known) devices->files.push_back(std::move(file));
  }
  append(other.env, &devices->env);
  append(other.notes, &devices->notes);
  if (devices->library_folder.empty()) devices->library_folder = std::move(other.library_folder);
  devices->locks_memory = devices->locks_memory || other.locks_memory;
  if (devices->huge_page_kib == 0) devices->huge_page_kib = other.huge_page_kib;
}

}  // namespace glim::nodeagent
