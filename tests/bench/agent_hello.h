// What the simulated agents of the benchmarks say first: who they are.
#pragma once

#include <cstdint>
#include <string>

#include "glim/v1/agent_api.pb.h"

namespace glim::bench {

// Node `number`, from 1, of a cluster of two zones with 16 leaves each; its 8 GPUs are simulated.
v1::Hello MakeHello(const std::string& cluster_id, const std::string& node_name, std::uint32_t number);

}  // namespace glim::bench
