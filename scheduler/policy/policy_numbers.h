// The numbers of a policy file as one table: each key with its bounds, read and shown by the same row. A new number of
// core::Policy is a row here and a line in docs/policy.md.
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

// What numbers must be to each other; `key` is the one that is refused.
struct PolicyFault {
  std::string key;  // empty: there is none
  std::string message;
  std::string fix;
};
PolicyFault FindPolicyFault(const core::Policy& policy);

}  // namespace glim::server
