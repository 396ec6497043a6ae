#include "scheduler/policy/policy_numbers.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "scheduler/core/model/policy_keys.h"
#include "scheduler/policy/policy_file.h"

namespace glim::server {
namespace {

using core::AmountOf;
using core::Policy;
using core::PolicyKey;

std::map<std::string, PolicyNumber> Rows() {
  std::map<std::string, PolicyNumber> rows;
  for (const PolicySection& section : PolicySections()) {
    for (const PolicyNumber& number : section.numbers) rows.emplace(number.key, number);
  }
  return rows;
}

// A file of that key and of what must not be above it.
std::string FileWith(const PolicyKey& key, std::int64_t amount) {
  Policy policy;
  SetAmount(key, amount, policy);
  std::string text;
  for (const PolicyKey& other : core::PolicyKeys()) {
    const bool is_least = key.not_below != nullptr && other.name == std::string_view(key.not_below);
    const bool is_raised = other.not_below != nullptr && key.name == std::string_view(other.not_below);
    if (is_least) SetAmount(other, other.low, policy);
    if (is_raised) SetAmount(other, other.high, policy);
    if (is_least || is_raised) text += std::string(other.name) + ": " + Rows().at(other.name).text(policy) + "\n";
  }
  return std::string(key.name) + ": " + Rows().at(key.name).text(policy) + "\n" + text;
}

TEST(PolicyNumbers, EachAmountIsReadAndShownByItsRowAndRefusedBeyondItsBounds) {
  for (const PolicyKey& key : core::PolicyKeys()) {
    if (!IsAmount(key)) continue;
    const Policy defaults;
    ASSERT_LT(key.low, key.high) << key.name;
    EXPECT_LE(key.low, AmountOf(key, defaults)) << key.name;
    EXPECT_LE(AmountOf(key, defaults), key.high) << key.name;
    const bool is_size = key.unit == core::PolicyUnit::kBytes;
    const std::int64_t step = is_size ? std::int64_t{1} << 20 : key.unit == core::PolicyUnit::kSwitch ? 0 : 1;
    const std::int64_t most = key.name == std::string_view("master_port_first") ? key.high - step : key.high;  // a pair
    for (const std::int64_t amount : {key.low + step, most}) {
      const auto file = ReadPolicyText(FileWith(key, amount), "p.yaml");
      ASSERT_TRUE(file.ok()) << key.name << ": " << file.status().message();
      EXPECT_EQ(AmountOf(key, file->policy), amount) << key.name;
    }
    if (step == 0) continue;
    const auto beyond = ReadPolicyText(FileWith(key, key.high + step), "p.yaml");
    ASSERT_FALSE(beyond.ok()) << key.name;
    EXPECT_EQ(beyond.status().field(), key.name);
  }
}

TEST(PolicyNumbers, NoMemberOrNameHasTwoRows) {
  std::set<std::string> names;
  for (const PolicyKey& key : core::PolicyKeys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    for (const PolicyKey& other : core::PolicyKeys()) {
      EXPECT_EQ(other.member == key.member, &other == &key) << key.name << " and " << other.name;
    }
  }
}

TEST(PolicyNumbers, WhatIsDrawnCanBeWritten) {
  for (const bool most : {false, true}) {
    Policy policy;
    DrawPolicy(policy, [&](const PolicyKey& key) {
      EXPECT_LE(key.low, key.draw_low) << key.name;
      EXPECT_LE(key.draw_high, key.high) << key.name;
      return most ? key.draw_high : key.draw_low;
    });
    EXPECT_TRUE(CheckPolicy(policy).ok()) << CheckPolicy(policy).message();
  }
}

// The range of one may end below the other's amount.
TEST(PolicyNumbers, WhatMustReachAnotherKeyIsRaisedToIt) {
  Policy policy;
  policy.restore_backoff = policy.restore_backoff_max + Seconds(1);
  DrawPolicy(policy, [](const PolicyKey& key) { return key.draw_low; });
  EXPECT_EQ(policy.restore_backoff_max, policy.restore_backoff);
}

}  // namespace
}  // namespace glim::server
