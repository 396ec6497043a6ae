// What of a node's hardware a task's container gets beside the rest of the node: device nodes, files and variables.
//
// Functions over `root`, the folder that stands for "/" ("" on a node, another one in tests). They look into /dev,
// /proc and /sys and ask no driver, so they do not hang with one. Any thread. Numbers of devices are never assumed: the
// kernel says in /proc/devices which number a driver has, and a node in /dev counts only if it has that number.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/result.h"

namespace glim::nodeagent {

// Where a container sees the driver's libraries that lie outside of the system's folders.
inline constexpr const char* kDriverTarget = "/run/glim/driver";

struct DeviceNode {
  std::string path;    // as the container sees it: /dev/nvidia0
  std::string source;  // on the node
  char type = 'c';     // or 'b'
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::string access = "rw";  // what the control group lets the task do with it
};

struct DeviceFile {
  std::string source;
  std::string target;
  bool read_only = true;
};

struct NodeDevices {
  std::vector<DeviceNode> nodes;
  std::vector<DeviceFile> files;
  std::vector<std::pair<std::string, std::string>> env;  // the job's own variables count more
  std::string library_folder;       // added to LD_LIBRARY_PATH, as the container sees it; empty: none
  bool locks_memory = false;        // a card registers memory: what is locked is not bounded
  std::uint64_t huge_page_kib = 0;  // of the pages that the node has reserved; 0: it has none
  std::vector<std::string> notes;   // for the operator: what was found and is not given
};

// All of the node's NVIDIA GPUs and the driver's own nodes, and its libraries where the container does not see them
// already. NOT_FOUND where no driver is loaded; FAILED_PRECONDITION where a node is missing or is none of the driver's:
// a job must not start without its GPUs.
Result<NodeDevices> DriverDevices(const std::string& root);

// For a container that does not see the node's own system: the driver's libraries, where the node has them.
void ShowDriverLibraries(const std::string& root, NodeDevices* devices);

// The RDMA cards that programs use: /dev/infiniband/uverbs*, rdma_cm. What manages the fabric (umad, issm) is not.
NodeDevices FabricDevices(const std::string& root);

// The smallest size of huge pages of which the node has reserved any, in KiB; 0: none.
std::uint64_t ReservedHugePages(const std::string& root);

// What `other` has, too.
void Join(NodeDevices&& other, NodeDevices* devices);

// The node of a device, as the kernel has it: type and numbers of what is at ROOT/SOURCE. An error names it.
Result<DeviceNode> LookAtDevice(const std::string& root, const std::string& source, const std::string& path);

// What a container of the image `host` sees of the node already, read-only: nothing can be put there.
bool IsSystemPath(const std::string& path);

}  // namespace glim::nodeagent
