// Network namespaces for the bench's nodes, and what joins them: a bridge for each zone, and a link between the two.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "sdk/base/status.h"

namespace glim::hfreduce::bench {

// 10.77.0.1 + node. The hub, where the store listens, is 10.77.0.254.
std::string AddressOf(std::uint32_t node);
inline constexpr char kHubAddress[] = "10.77.0.254";

// Puts this process into a new network namespace with the bridges; everything goes with its last process.
// PERMISSION_DENIED: not root.
Status MakeHub(std::uint32_t zones, std::uint32_t zone_mbit);
// Called in the hub: connects the namespace of process `pid` as this node.
Status ConnectNode(std::uint32_t node, std::uint32_t zone, pid_t pid);

}  // namespace glim::hfreduce::bench
