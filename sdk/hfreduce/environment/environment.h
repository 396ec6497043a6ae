// What a task is told of its job, through environment variables: who takes part, who this is, where all meet.
//
// sdk/task_environment has the variables. Outside of Glim those that torchrun sets are enough; the nodes are then one
// zone.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/result.h"
#include "sdk/hfreduce/communicator/communicator.h"
#include "sdk/hfreduce/tree/topology.h"
#include "sdk/task_environment/variable_reader.h"

namespace glim::hfreduce {

struct Environment {
  Topology topology = {};
  std::uint32_t rank = 0;
  // Rank 0 serves the store there while a communicator is made.
  std::string store_host = {};
  std::uint16_t store_port = 0;
  std::string secret_file = {};      // of the attempt; empty: there is none
  std::string attempt = {};          // "12.3", of which the secret is; empty outside of Glim
  CommunicatorOptions options = {};  // `listen` may be empty: the address from which the store's host is reached
};

// Pure. What the variables say is added to `options`: its id gets the job's before it, `listen` is replaced. Of
// `device` and `service_level` the caller's choice comes first. INVALID_ARGUMENT that names the variable.
Result<Environment> EnvironmentOf(const VariableLookup& lookup, const CommunicatorOptions& options);

}  // namespace glim::hfreduce
