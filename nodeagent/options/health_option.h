// Whether the agent looks after its node's hardware: --health.
#pragma once

#include <string>

#include "sdk/base/status.h"

namespace glim::nodeagent {

// `health` is yes or no afterwards. auto: yes for root, and where `kmsg` can be read. Errors name the option.
Status CompleteHealth(const std::string& kmsg, const std::string& root, std::string* health);

}  // namespace glim::nodeagent
