// Durations of a policy file that differ by class or by pool.
//
//   grace_cap: 5m                                  one for all classes
//   grace_cap: {others: 5m, low: 1m, high: 15m}    `others` is of the classes that are not named
//   time_max: {debug: 1h}                          by pool; a pool that is not named has none
#pragma once

#include <map>
#include <string>

#include "scheduler/core/model/policy.h"
#include "sdk/yaml/fields.h"

namespace glim::server {

// What is written takes the place of the whole: a class that is not named has the duration of `others`, or the default.
yaml::Field IntoClassDurations(core::ClassDurations* out, Duration low, Duration high);

// As the file would have it.
std::string ClassDurationsYaml(const core::ClassDurations& durations);

// What is written takes the place of the whole.
yaml::Field IntoPoolDurations(std::map<std::string, Duration>* out, Duration low, Duration high);
std::string PoolDurationsYaml(const std::map<std::string, Duration>& durations);

}  // namespace glim::server
