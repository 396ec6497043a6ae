// The part `quotas` of a policy file: concurrent nodes by class for users, teams and pools, and the teams' weights.
//
//   quotas:
//     default_user: {normal: 8}
//     users: {kim: {high: 4}}
//     teams:
//       vision: {users: {high: 2}, total: {high: 16}, weight: 200}
//     pools: {default: {extreme_high: 32}}
#pragma once

#include <map>
#include <string>

#include "scheduler/core/model/policy.h"
#include "scheduler/policy/policy_names.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

// What is in the file replaces what is in `policy`, part by part. Pools that get a quota are noted in `names`.
Status ReadQuotas(const yaml::Node& value, const std::string& path, core::Policy* policy, PolicyNames* names);

// As the file would have them, from the line `quotas:` on; nothing if there are none.
std::string QuotasYaml(const core::Policy& policy);
// Each amount by its path ("quotas.users.kim.high": "4"), added to `out`.
void FlattenQuotas(const core::Policy& policy, std::map<std::string, std::string>* out);

}  // namespace glim::server
