// Looks at what a node is made of.
//
// Sources: node_parts.cc, gpu_parts.cc (what NVML says)
#pragma once

#include <string>
#include <vector>

#include "nodeagent/hardware/inventory.h"
#include "nodeagent/hardware/sys_tree.h"

namespace glim::nodeagent {

// Cards with a device behind them: ports of RDMA devices, and network interfaces but those of InfiniBand (their port
// is there already).
std::vector<NicPart> FindNics(const SysTree& tree);
// Whole disks with a device behind them: no partitions, loops, nor what is made of disks.
std::vector<DiskPart> FindDisks(const SysTree& tree);
// The cards and disks, and everything else that /sys and /proc tell.
NodeParts FindParts(const SysTree& tree);
// The version in /proc/driver/nvidia/version; empty: it is not there.
std::string DriverVersionIn(const std::string& text);

// What the driver's `library` says. May hang.
GpuParts FindGpus(const SysTree& tree, const std::string& library);

}  // namespace glim::nodeagent
