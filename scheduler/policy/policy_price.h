// What GPU-time is reckoned at in reports, as a policy file says so.
//
//   price: {unit: credits, per_gpu_hour: {default: 1.0, pools: {a100: 2.0}}}
//   price: none
#pragma once

#include <string>

#include "scheduler/core/model/policy.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

yaml::Field IntoPrice(core::Price* out);

// As the file would have it.
std::string PriceYaml(const core::Price& price);

}  // namespace glim::server
