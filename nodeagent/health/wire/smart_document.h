// What `smartctl --json -H -A` prints of one disk (smartmontools 7.3): the numbers that nodeagent/health/smart_rules.h
// judges.
#pragma once

#include <string>

#include "nodeagent/health/smart_rules.h"
#include "sdk/base/result.h"

namespace glim::nodeagent::health {

// FAILED_PRECONDITION: it says nothing of the disk's health; the message is smartctl's own, if there is one. Fields
// that are not what they should be are left out.
Result<SmartReading> ParseSmartDocument(const std::string& text);

}  // namespace glim::nodeagent::health
