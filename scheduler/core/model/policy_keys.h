// The policy's keys that are one amount each: a row has the key's name, its member, its unit and its bounds, and what
// random worlds draw it from. Made of the rows are the reader and the printer of policy files (scheduler/policy), the
// golden decisions' `policy` lines (testing/golden_input.h), the policies of random clusters and of the simulator, the
// fuzzer's choice of a key, and the tests of all these.
//
// A member of Policy that has neither a row nor a place in kOtherMembers does not compile (policy_keys.cc).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "scheduler/core/model/policy.h"

namespace glim::core {

enum class PolicyUnit {
  kTime,  // in milliseconds
  kCount,
  kPermille,  // in a file 1.25, here 1250
  kBytes,
  kSwitch,        // 0 or 1
  kTimesByClass,  // one duration, or one for each class
  kTimesByPool,
  kFolder  // an absolute path, or empty
};

// The sections of a policy file that rows stand in, in the order in which they are shown.
enum class PolicyPart {
  kSlicing,
  kCrossZone,
  kInterrupts,
  kSaves,
  kLogs,
  kNodes,
  kUsersOfTasks,
  kReports,
  kNotifications,
  kBounds
};

struct PolicyKey {
  using Member = std::variant<Duration Policy::*, std::int64_t Policy::*, std::uint32_t Policy::*,
                              std::uint16_t Policy::*, bool Policy::*, ClassDurations Policy::*,
                              std::map<std::string, Duration> Policy::*, std::string Policy::*>;

  PolicyPart part;
  const char* name;
  PolicyUnit unit;
  Member member;
  std::int64_t low = 0, high = 0;            // what is refused lies outside
  std::int64_t draw_low = 0, draw_high = 0;  // both 0: it is not drawn
  const char* not_below = nullptr;           // the key that this one must reach at least

  bool IsDrawn() const { return draw_high > 0; }
};

// In the order in which a file shows them.
std::span<const PolicyKey> PolicyKeys();

// Of a key that is one amount: neither a folder nor durations by class or pool.
bool IsAmount(const PolicyKey& key);
std::int64_t AmountOf(const PolicyKey& key, const Policy& policy);
void SetAmount(const PolicyKey& key, std::int64_t amount, Policy& policy);

// Gives each key that is drawn an amount of its range, which `draw` chooses; then what must reach another key does.
void DrawPolicy(Policy& policy, const std::function<std::int64_t(const PolicyKey&)>& draw);

}  // namespace glim::core
