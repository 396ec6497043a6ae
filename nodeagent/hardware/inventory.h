// What a node is made of: its GPUs, cards, disks, CPUs and memory. Plain values, and how they are written and read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.h"

namespace glim::nodeagent {

struct GpuPart {
  std::uint32_t index = 0;
  std::string uuid;
  std::string type;  // as the driver names it
  std::int64_t memory_bytes = 0;
  std::string pci;
  std::int32_t numa_node = -1;        // -1: unknown
  std::vector<std::uint32_t> nvlink;  // indices of the GPUs that an active link leads to, ascending

  friend bool operator==(const GpuPart&, const GpuPart&) = default;
};

struct NicPart {
  std::string name;
  std::string kind;            // infiniband, roce, ethernet
  std::string state;           // up, down, or the port's own word
  std::int64_t rate_mbps = 0;  // 0: unknown
  std::int32_t numa_node = -1;
  std::string pci;

  friend bool operator==(const NicPart&, const NicPart&) = default;
};

struct DiskPart {
  std::string name;
  std::string model;
  std::int64_t bytes = 0;
  bool rotational = false;

  friend bool operator==(const DiskPart&, const DiskPart&) = default;
};

// From /sys and /proc: no driver is asked.
struct NodeParts {
  std::vector<NicPart> nics;
  std::vector<DiskPart> disks;
  std::string cpu_model;
  std::uint32_t cpus = 0;  // hardware threads that are online
  std::uint32_t cores = 0;
  std::uint32_t sockets = 0;
  std::uint32_t numa_nodes = 0;
  std::int64_t memory_bytes = 0;
  std::string kernel;
  std::string gpu_driver;             // its version; empty: none is loaded
  std::vector<std::string> bus_gpus;  // addresses of NVIDIA's GPUs on the bus, with a driver or without

  friend bool operator==(const NodeParts&, const NodeParts&) = default;
};

// From NVML.
struct GpuParts {
  bool asked = false;         // false: the driver has not answered yet, nothing here says anything
  std::vector<GpuPart> gpus;  // those that can be used, by index
  std::string error;          // why none can be seen, or this node is not served; empty: all is well
  std::string fix;            // of the error
  std::vector<std::string> warnings;

  friend bool operator==(const GpuParts&, const GpuParts&) = default;
};

struct Inventory {
  NodeParts node;
  GpuParts gpus;

  friend bool operator==(const Inventory&, const Inventory&) = default;
};

// glim-inventory writes a line for each as soon as it has it: a driver that hangs does not hide the rest.
std::string ToLine(const NodeParts& parts);
std::string ToLine(const GpuParts& parts);
// As far as lines are there and whole. DATA_LOSS: not even the first is.
Result<Inventory> ParseInventory(const std::string& lines);

// As jobs ask for it: of "NVIDIA A100-SXM4-80GB" that is "a100", of "NVIDIA GeForce RTX 4090" "rtx-4090". Empty: of
// nothing.
std::string GpuTypeOf(const std::string& name);
// The label nvlink of the first `count` GPUs: full (each has a link to each), pair (each has one to some), none.
std::string NvlinkOf(const std::vector<GpuPart>& gpus, std::uint32_t count);
// The label nic: infiniband or roce, where there is such a port; empty: there is none, which says nothing.
std::string NicOf(const std::vector<NicPart>& nics);

}  // namespace glim::nodeagent
