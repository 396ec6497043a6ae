// A policy as data: policy.yaml, or the map `policy:` of the scheduler's configuration. docs/policy.md has every key.
//
// Reading is all or nothing: a refusal says where and what ("policy.yaml:12:3: quantum_max: ..."), how to mend it, and
// the caller's policy is what it was. Values; no I/O but ReadPolicyFile's.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/policy.h"
#include "scheduler/policy/policy_names.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

struct PolicyFile {
  core::Policy policy;
  PolicyNames names;
};

// What the file leaves out is as in `base`.
Result<PolicyFile> ReadPolicyFile(const std::string& path, const PolicyFile& base = {});
// `source` is for messages.
Result<PolicyFile> ReadPolicyText(const std::string& text, const std::string& source, const PolicyFile& base = {});
// The mapping at `path` of a larger file, over what `out` has. `out` is unchanged if it is refused.
Status ReadPolicyMap(const yaml::Node& value, const std::string& path, PolicyFile* out);

// What the numbers must be to each other, for a policy that was put together by hand.
Status CheckPolicy(const core::Policy& policy);

// The whole policy as a file that reads back to the same.
std::string PolicyYaml(const PolicyFile& file);
// The same with webhooks' URLs cut short (ShortUrl), for whoever is no operator.
std::string PolicyYamlForAll(const PolicyFile& file);

// A key that has another value, or is new (`before` empty), or gone (`after` empty).
struct PolicyChange {
  std::string field;  // "quotas.users.kim.high", "links.A-B.jobs_max"
  std::string before;
  std::string after;
  friend bool operator==(const PolicyChange&, const PolicyChange&) = default;
};
// In the order of the fields. URLs are cut short: it is told to the log, to the history and to the audit trail.
std::vector<PolicyChange> DiffPolicies(const PolicyFile& before, const PolicyFile& after);
// "quantum_min 10m -> 5m, quotas.users.kim.high added: 4"; cut off at 900 bytes.
std::string ChangesInWords(const std::vector<PolicyChange>& changes);

}  // namespace glim::server
