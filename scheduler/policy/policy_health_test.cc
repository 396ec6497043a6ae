// The section `health` of a policy file.
#include "scheduler/policy/policy_health.h"

#include <gtest/gtest.h>

#include <string>

#include "scheduler/policy/policy_file.h"

namespace glim::server {
namespace {

// An operator who wants to change a row sees all of them.
TEST(PolicyHealth, RowsOfHealthAreShownAsTheyAreInForceAndTheDifferenceIsOfOneRow) {
  const std::string shown = PolicyYaml({});
  EXPECT_NE(shown.find("    - {check: xid, codes: [44, 48, 61, 62, 69, 79], verdict: out, ends: gpu_failure, repair: "
                       "\"reboot the node\"}\n"),
            std::string::npos)
      << shown;
  const auto after = ReadPolicyText("health: {rules: [{check: xid, codes: [79], verdict: drained}]}", "p.yaml");
  ASSERT_TRUE(after.ok());
  EXPECT_NE(PolicyYaml(*after).find("codes: [44, 48, 61, 62, 69],"), std::string::npos);
  EXPECT_EQ(ChangesInWords(DiffPolicies({}, *after)),
            "health.rules.xid.79 {verdict: out, ends: gpu_failure, repair: \"reboot the node\"} -> {verdict: drained}");
}

constexpr char kSection[] = R"(
health:
  blame_window: 2m
  no_progress_min: 20m
  no_progress_gaps: 5
  validate: {on_join: true, after_repair: false, suspects: false, every: 7d, full: true}
  lemons: {within: 14d, avoid_times: 3, large_nodes: 16, cordon_times: 0}
  idle_gpus: {warn_after: 30m, suspend_after: 2h}
  rules:
    - {check: xid, codes: [79, 5], verdict: drained, ends: gpu_failure, repair: 'say "hm" \ look'}
    - {check: xid, codes: [31], verdict: out, ends: node_failure, times: 4, users: 2, within: 2d}
    - {check: link_down, ends: network}
)";

TEST(PolicyHealth, EveryKeyIsRead) {
  const auto file = ReadPolicyText(kSection, "p.yaml");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const core::HealthPolicy& health = file->policy.health;
  EXPECT_EQ(health.blame_window, Minutes(2));
  EXPECT_EQ(health.no_progress_min, Minutes(20));
  EXPECT_EQ(health.no_progress_gaps, 5u);
  EXPECT_EQ(health.validate,
            (core::ValidatePolicy{
                .on_join = true, .after_repair = false, .suspects = false, .every = Hours(24) * 7, .full = true}));
  EXPECT_EQ(health.lemons,
            (core::LemonPolicy{.within = Hours(24) * 14, .avoid_times = 3, .large_nodes = 16, .cordon_times = 0}));
  EXPECT_EQ(health.idle_gpus, (core::IdleGpusPolicy{.warn_after = Minutes(30), .suspend_after = Hours(2)}));
  using enum core::HealthVerdict;
  const std::vector<core::HealthRule> rules = {{.check = "xid",
                                                .codes = {79, 5},
                                                .verdict = kDrained,
                                                .ends = core::Outcome::kGpuFailure,
                                                .repair = "say \"hm\" \\ look"},
                                               {.check = "xid",
                                                .codes = {31},
                                                .verdict = kOut,
                                                .ends = core::Outcome::kNodeFailure,
                                                .times = 4,
                                                .users = 2,
                                                .within = Hours(48)},
                                               {.check = "link_down", .ends = core::Outcome::kNetwork}};
  EXPECT_EQ(health.rules, rules);
}

struct RefusedRow {
  const char* text;
  const char* place;
  const char* field;
  const char* fix;
};

const RefusedRow kRefusedRows[] = {
    {"health: {blame: 5m}", "1:10", "health.blame", "did you mean 'blame_window'?"},
    {"health: {blame_window: 2d}", "1:24", "health.blame_window", "use 0s to 1d"},
    {"health: {no_progress_gaps: 0}", "1:28", "health.no_progress_gaps", "use 1 to"},
    {"health: {lemons: {avoid_times: 17}}", "1:32", "health.lemons.avoid_times", "use 0 to 16"},
    {"health: {validate: {every: weekly}}", "1:28", "health.validate.every", ""},
    {"health: {rules: {check: xid}}", "1:17", "health.rules", "[{check: xid, codes: [79]"},
    {"health: {rules: [{codes: [79], verdict: out}]}", "1:18", "health.rules[0].check", "name the check"},
    {"health: {rules: [{check: xidd}]}", "1:26", "health.rules[0].check", "did you mean 'xid'?"},
    {"health: {rules: [{check: xid, verdict: drain}]}", "1:40", "health.rules[0].verdict", "did you mean 'drained'?"},
    {"health: {rules: [{check: xid, ends: timeout}]}", "1:37", "health.rules[0].ends", "write one of these"},
    {"health: {rules: [{check: xid, codes: [79, x]}]}", "1:43", "health.rules[0].codes[1]", ""},
    {"health: {rules: [{check: xid, codes: [79, 79]}]}", "1:43", "health.rules[0].codes[1]", "keep one"},
    {"health: {rules: [{check: link_flash, codes: [1]}]}", "1:38", "health.rules[0].codes", "leave it out"},
    {"health: {rules: [{check: link_down, times: 2}]}", "1:37", "health.rules[0].times", "leave it out"},
    {"health: {rules: [{check: link_down, users: 2}]}", "1:37", "health.rules[0].users", "leave it out"},
    {"health: {rules: [{check: xid, within: 31d}]}", "1:39", "health.rules[0].within", "use 1s to 30d"},
    {"health: {rules: [{check: xid, repair: [reboot]}]}", "1:39", "health.rules[0].repair", "in a few words"},
};

TEST(PolicyHealth, EveryRefusalNamesItsPlaceAndAFix) {
  for (const RefusedRow& refusal : kRefusedRows) {
    SCOPED_TRACE(refusal.text);
    const auto file = ReadPolicyText(refusal.text, "p.yaml");
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.status().field(), refusal.field);
    EXPECT_EQ(file.status().message().substr(0, 7 + std::string(refusal.place).size()),
              "p.yaml:" + std::string(refusal.place));
    EXPECT_NE(file.status().fix().find(refusal.fix), std::string::npos) << file.status().fix();
  }
}

TEST(PolicyHealth, WhatAFileLeavesOutIsAsBefore) {
  PolicyFile base;
  base.policy.health.blame_window = Minutes(1);
  const auto file = ReadPolicyText("health: {no_progress_gaps: 3}", "p.yaml", base);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->policy.health.blame_window, Minutes(1));
  EXPECT_EQ(file->policy.health.no_progress_gaps, 3u);
}

}  // namespace
}  // namespace glim::server
