// The map `limits:` of the configuration: what callers may take
// (docs/operations/scheduler-configuration.md, Limits).
#pragma once

#include "scheduler/server/limits/bounds.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

// Over what `limits` says; what is not named stays.
yaml::Field ReadLimitsInto(Bounds* limits);

}  // namespace glim::server
