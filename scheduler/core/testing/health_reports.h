// What a node's agent tells of its hardware, in tests.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core::testing {

// The first GPU of a node, unless another device is named.
HealthReading Told(std::uint64_t seq, const std::string& check, std::int64_t code = 0,
                   const std::string& device = "0000:3b:00.0");

HealthCondition IsSo(const std::string& check, const std::string& device = "mlx5_0/1");

// With what its agent sees of its tasks.
void Tell(Cluster& c, NodeId node, std::vector<HealthReading> events, std::vector<HealthCondition> conditions = {},
          const std::string& boot = "boot-1");

}  // namespace glim::core::testing
