// A number of a policy file that may differ by class: one duration for all, or a mapping of classes to durations with
// `others` for those that it does not name.
//
//   grace_cap: 5m
//   grace_cap: {others: 5m, low: 1m, high: 15m}
#pragma once

#include <string>

#include "scheduler/core/model/policy.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

// What is written takes the place of the whole: a class that is not named has the duration of `others`, or the default.
yaml::Field IntoClassDurations(core::ClassDurations* out, Duration low, Duration high);

// As the file would have it.
std::string ClassDurationsYaml(const core::ClassDurations& durations);

}  // namespace glim::server
