// The parts of a policy file's `health` that are about nodes as wholes: when they are measured, which of them fail too
// often, and jobs that hold GPUs without using them.
//
//   health:
//     validate:
//       on_join: true
//       every: 7d
//       baselines: [{pool: train, gpu_type: h100, expected: {cpu.piece: 41.7, gpu.tensor: 576}}]
//     lemons: {within: 30d, avoid_times: 2, large_nodes: 8, cordon_times: 4}
//     idle_gpus: {warn_after: 1h, suspend_after: 0s}
#pragma once

#include <map>
#include <string>

#include "scheduler/core/model/policy.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

// What a mapping leaves out stays as it is.
yaml::Field IntoValidate(core::ValidatePolicy* out);
yaml::Field IntoLemons(core::LemonPolicy* out);
yaml::Field IntoIdleGpus(core::IdleGpusPolicy* out);

// As the file would have it: lines that belong under `health:`.
std::string NodeChecksYaml(const core::HealthPolicy& health);
// "health.validate.every": "7d", added to `out`.
void FlattenNodeChecks(const core::HealthPolicy& health, std::map<std::string, std::string>* out);

}  // namespace glim::server
