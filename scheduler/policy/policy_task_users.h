// Which of the system's ids tasks may have, as a policy file says so.
//
//   task_users: {allow_uids: [999], allow_gids: [44, 109]}
#pragma once

#include <string>

#include "scheduler/core/model/policy.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

// Root's ids and those that are nobody's are refused; a missing key is an empty list.
yaml::Field IntoTaskUsers(core::TaskUsersPolicy* out);

// As the file would have it.
std::string TaskUsersYaml(const core::TaskUsersPolicy& task_users);

}  // namespace glim::server
