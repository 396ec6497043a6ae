// The part `health` of a policy file: what is done about what nodes' health checks find.
//
//   health:
//     blame_window: 5m
//     rules:
//       - {check: xid, codes: [79], verdict: out, ends: gpu_failure, repair: "reboot the node"}
#pragma once

#include <map>
#include <string>

#include "scheduler/core/model/policy.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

// The file's rows take the place of the policy's, and stand before the default ones (core/model/health_rules.h).
yaml::Field IntoHealth(core::HealthPolicy* out);

// As the file would have it, from the line `health:` on, with all rows in force.
std::string HealthYaml(const core::HealthPolicy& health);
// "health.blame_window": "5m", "health.rules.xid.79": "out, ends gpu_failure, ...", added to `out`.
void FlattenHealth(const core::HealthPolicy& health, std::map<std::string, std::string>* out);

}  // namespace glim::server
