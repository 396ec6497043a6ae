// What a policy file says of core::Policy, but for health, quotas and links: each key with what reads it and what shows
// it. Of a key that is one amount both follow from its row (scheduler/core/model/policy_keys.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "scheduler/core/model/policy.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

struct PolicyNumber {
  const char* key;
  std::function<yaml::Field(core::Policy*)> into;        // reads a value into the policy
  std::function<std::string(const core::Policy&)> text;  // as the file would have it
};

struct PolicySection {
  const char* title;
  std::vector<PolicyNumber> numbers;
};

// In the order in which they are shown.
std::vector<PolicySection> PolicySections();

// What numbers must be to each other; `key` is the one that is refused, as it does not fit `other`.
struct PolicyFault {
  std::string key;  // empty: there is none
  std::string other;
  std::string message;
  std::string fix;
};
PolicyFault FindPolicyFault(const core::Policy& policy);

}  // namespace glim::server
