// core::Policy's part of the configuration file: every number by its name, quotas by class, links.
#pragma once

#include "scheduler/core/policy.h"
#include "scheduler/server/yaml_reader.h"

namespace glim::server {

YamlFields PolicyFields(core::Policy* policy);

// What the numbers must be to each other.
Status CheckPolicy(const core::Policy& policy);

}  // namespace glim::server
