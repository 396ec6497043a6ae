// How long ended jobs' saves stay, as a policy file says so: "forever", or a mapping whose missing keys keep their
// defaults.
//
//   checkpoint_retention: {succeeded: 30d, failed: 90d, cancelled: 90d, bytes_max: 2TiB, every: 1h}
#pragma once

#include <string>

#include "scheduler/core/model/policy.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

yaml::Field IntoSaveRetention(core::SaveRetention* out);

// As the file would have it.
std::string SaveRetentionYaml(const core::SaveRetention& retention);

}  // namespace glim::server
