// The part `links` of a policy file: which zones may be crossed, by how many jobs and pairs of nodes.
#pragma once

#include <map>
#include <string>

#include "scheduler/core/model/policy.h"
#include "scheduler/policy/policy_names.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

// Refuses a link of a zone with itself, and two of the same zones. The zones are noted in `names`.
Status ReadLinks(const yaml::Node& value, const std::string& path, core::Policy* policy, PolicyNames* names);

// As the file would have them, from the line `links:` on; nothing if there are none.
std::string LinksYaml(const core::Policy& policy);
// "links.A-B.jobs_max": "1", added to `out`.
void FlattenLinks(const core::Policy& policy, std::map<std::string, std::string>* out);

}  // namespace glim::server
