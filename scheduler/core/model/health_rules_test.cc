// Which rows count for a finding, and what they come to.
#include "scheduler/core/model/health_rules.h"

#include <gtest/gtest.h>

#include <map>

namespace glim::core {
namespace {

constexpr const char* kGpuAt = "0000:3b:00.0";

HealthEvent Finding(const std::string& check, std::int64_t code, TimePoint at, const std::string& user = "ann",
                    HealthVerdict verdict = HealthVerdict::kRecorded) {
  HealthEvent event;
  event.check = check;
  event.device = kGpuAt;
  event.code = code;
  event.at = at;
  event.user = user;
  event.verdict = verdict;
  return event;
}

TEST(HealthRules, TheDefaultRowsAreTableFive) {
  using enum HealthVerdict;
  const std::map<std::int64_t, HealthVerdict> kFirst = {
      {13, kJobsFault}, {31, kJobsFault}, {43, kJobsFault}, {45, kJobsFault}, {74, kRestarted}, {63, kDrained},
      {64, kDrained},   {94, kDrained},   {95, kDrained},   {44, kOut},       {48, kOut},       {61, kOut},
      {62, kOut},       {69, kOut},       {79, kOut},       {119, kOut},      {8, kRecorded},   {32, kRecorded}};
  for (const auto& [code, verdict] : kFirst) {
    const HealthJudgement judged = JudgeHealth({}, {}, Finding("xid", code, TimePoint{1}));
    EXPECT_STREQ(ToString(judged.verdict), ToString(verdict)) << code;
    const bool ends = verdict != kJobsFault && verdict != kRecorded;
    EXPECT_EQ(judged.ends, ends ? Outcome::kGpuFailure : Outcome::kNone) << code;
    EXPECT_EQ(BlamedFor({}, "xid", code), judged.ends) << code;
  }
  EXPECT_EQ(JudgeHealth({}, {}, Finding("xid", 79, TimePoint{1})).repair, "reboot the node");
}

TEST(HealthRules, AnErrorOfAnNvswitchThatIsFatalDrainsItsNodeAndOthersAreRecorded) {
  const HealthJudgement fatal = JudgeHealth({}, {}, Finding("sxid_fatal", 24007, TimePoint{1}));
  EXPECT_EQ(fatal.verdict, HealthVerdict::kDrained);
  EXPECT_EQ(fatal.ends, Outcome::kGpuFailure);
  EXPECT_EQ(fatal.repair, "reset the GPUs and the NVSwitches, or reboot the node");
  EXPECT_EQ(BlamedFor({}, "sxid_fatal", 24007), Outcome::kGpuFailure);
  const HealthJudgement other = JudgeHealth({}, {}, Finding("sxid", 22013, TimePoint{1}));
  EXPECT_EQ(other.verdict, HealthVerdict::kRecorded);
  EXPECT_EQ(other.ends, Outcome::kNone);
  EXPECT_EQ(BlamedFor({}, "sxid", 22013), Outcome::kNone);
}

TEST(HealthRules, ADiskThatFailsDrainsItsNodeAndOneThatIsWornIsRecorded) {
  const HealthJudgement failing = JudgeHealth({}, {}, Finding("disk_failing", 0, TimePoint{1}));
  EXPECT_EQ(failing.verdict, HealthVerdict::kDrained);
  EXPECT_EQ(failing.ends, Outcome::kNone) << "it can still be read: who is there saves and leaves";
  EXPECT_EQ(failing.repair, "replace the disk");
  EXPECT_EQ(JudgeHealth({}, {}, Finding("disk_worn", 0, TimePoint{1})).verdict, HealthVerdict::kRecorded);
  for (const char* check : {"disk_failing", "disk_worn"}) {
    ASSERT_NE(FindHealthCheck(check), nullptr) << check;
    EXPECT_TRUE(FindHealthCheck(check)->condition) << check;
  }
}

TEST(HealthRules, EveryRowIsAboutACheckThatThereIs) {
  for (const HealthRule& rule : DefaultHealthRules()) {
    EXPECT_NE(FindHealthCheck(rule.check), nullptr) << rule.check;
    EXPECT_TRUE(rule.codes.empty() || rule.check == kXidCheck) << rule.check;
  }
  EXPECT_EQ(FindHealthCheck("xidd"), nullptr);
}

TEST(HealthRules, APolicysRowStandsBeforeTheDefaultOnesForTheCodesThatItNames) {
  HealthPolicy policy;
  policy.rules = {{.check = "xid", .codes = {79, 5}, .verdict = HealthVerdict::kDrained}};
  EXPECT_EQ(JudgeHealth(policy, {}, Finding("xid", 79, TimePoint{1})).verdict, HealthVerdict::kDrained);
  EXPECT_EQ(JudgeHealth(policy, {}, Finding("xid", 79, TimePoint{1})).ends, Outcome::kNone);
  EXPECT_EQ(JudgeHealth(policy, {}, Finding("xid", 5, TimePoint{1})).verdict, HealthVerdict::kDrained);
  EXPECT_EQ(JudgeHealth(policy, {}, Finding("xid", 48, TimePoint{1})).verdict, HealthVerdict::kOut);
  // Any other code: of those that no row names.
  policy.rules = {{.check = "xid", .verdict = HealthVerdict::kDrained}};
  EXPECT_EQ(JudgeHealth(policy, {}, Finding("xid", 8, TimePoint{1})).verdict, HealthVerdict::kDrained);
  EXPECT_EQ(JudgeHealth(policy, {}, Finding("xid", 79, TimePoint{1})).verdict, HealthVerdict::kOut);
}

// `glim admin config show` writes it: what is shown must decide the same when it is read.
TEST(HealthRules, TheTableAsAPolicyDecidesTheSame) {
  HealthPolicy policy;
  policy.rules = {{.check = "xid", .codes = {79}, .verdict = HealthVerdict::kRecorded},
                  {.check = "link_flash", .verdict = HealthVerdict::kOut, .ends = Outcome::kNetwork},
                  {.check = "xid", .verdict = HealthVerdict::kJobsFault}};
  HealthPolicy shown;
  shown.rules = HealthTable(policy);
  EXPECT_EQ(HealthTable(shown), shown.rules);
  for (const HealthCheck& check : kHealthChecks) {
    for (std::int64_t code = 0; code < 130; ++code) {
      const HealthEvent event = Finding(std::string(check.name), code, TimePoint{1});
      const HealthJudgement is = JudgeHealth(shown, {}, event), should = JudgeHealth(policy, {}, event);
      EXPECT_EQ(is.verdict, should.verdict) << check.name << " " << code;
      EXPECT_EQ(is.ends, should.ends) << check.name << " " << code;
      EXPECT_EQ(BlamedFor(shown, event.check, code), BlamedFor(policy, event.check, code)) << check.name << " " << code;
    }
  }
}

TEST(HealthRules, ARowMayCountTimesOnOneDeviceWithinAWhile) {
  const TimePoint now{Hours(100).ms};
  std::vector<HealthEvent> earlier = {Finding("xid", 74, now - Hours(23), "ann", HealthVerdict::kRestarted),
                                      Finding("xid", 74, now - Hours(1), "bob", HealthVerdict::kRestarted)};
  const HealthEvent third = Finding("xid", 74, now);
  EXPECT_EQ(JudgeHealth({}, earlier, third).verdict, HealthVerdict::kDrained);
  EXPECT_EQ(JudgeHealth({}, earlier, third).ends, Outcome::kGpuFailure) << "and the attempt is restarted as before";
  EXPECT_EQ(JudgeHealth({}, earlier, third).repair, "stress the NVLink bridge");
  earlier[0].at = now - Hours(25);
  EXPECT_EQ(JudgeHealth({}, earlier, third).verdict, HealthVerdict::kRestarted) << "two within a day";
  earlier[1].more = 1;
  EXPECT_EQ(JudgeHealth({}, earlier, third).verdict, HealthVerdict::kDrained) << "one entry may stand for two";
  earlier[1].device = "0000:af:00.0";
  EXPECT_EQ(JudgeHealth({}, earlier, third).verdict, HealthVerdict::kRestarted) << "another link";
}

TEST(HealthRules, OfTwoRowsThatApplyTheStrongerSaysHowTheAttemptEnds) {
  const HealthRule weak{.check = "xid", .codes = {5}, .verdict = HealthVerdict::kRestarted, .ends = Outcome::kNetwork};
  const HealthRule strong{.check = "xid", .codes = {5}, .verdict = HealthVerdict::kOut, .ends = Outcome::kGpuFailure};
  for (const auto& rules : {std::vector{weak, strong}, std::vector{strong, weak}}) {
    HealthPolicy policy;
    policy.rules = rules;
    const HealthJudgement judged = JudgeHealth(policy, {}, Finding("xid", 5, TimePoint{1}));
    EXPECT_EQ(judged.verdict, HealthVerdict::kOut);
    EXPECT_EQ(judged.ends, Outcome::kGpuFailure) << "whatever their order is";
  }
}

TEST(HealthRules, WhatHasBeenActedUponCountsNoMore) {
  const TimePoint now{Hours(100).ms};
  std::vector<HealthEvent> earlier;
  for (int i = 3; i > 0; --i) earlier.push_back(Finding("link_flash", 0, now - Hours(i)));
  earlier.back().verdict = HealthVerdict::kDrained;
  earlier.push_back(Finding("link_flash", 0, now - Minutes(30)));
  EXPECT_EQ(JudgeHealth({}, earlier, Finding("link_flash", 0, now)).verdict, HealthVerdict::kRecorded);
  earlier.push_back(Finding("link_flash", 0, now - Minutes(20)));
  EXPECT_EQ(JudgeHealth({}, earlier, Finding("link_flash", 0, now)).verdict, HealthVerdict::kDrained);
}

TEST(HealthRules, ThreeUsersOnOneGpuAreNotAllWrong) {
  const TimePoint now{Hours(1000).ms};
  std::vector<HealthEvent> earlier;
  for (int i = 6; i > 0; --i) {
    earlier.push_back(Finding("xid", 31, now - Hours(24 * i), i % 2 ? "ann" : "bob", HealthVerdict::kJobsFault));
  }
  EXPECT_EQ(JudgeHealth({}, earlier, Finding("xid", 13, now, "bob")).verdict, HealthVerdict::kJobsFault);
  EXPECT_EQ(JudgeHealth({}, earlier, Finding("xid", 13, now, "")).verdict, HealthVerdict::kJobsFault) << "nobody's";
  const HealthJudgement third = JudgeHealth({}, earlier, Finding("xid", 13, now, "cho"));
  EXPECT_EQ(third.verdict, HealthVerdict::kDrained);
  EXPECT_EQ(third.ends, Outcome::kNone) << "who is there saves and leaves";
}

TEST(HealthRules, InWords) {
  HealthEvent event = Finding("xid", 79, TimePoint{1});
  event.text = "GPU has fallen\n off the bus";
  EXPECT_EQ(HealthInWords(event), "xid 79 of 0000:3b:00.0: GPU has fallen\\n off the bus");
  HealthCondition condition;
  condition.check = "link_slow";
  condition.device = "mlx5_0/1";
  condition.value = 100;
  condition.expected = 200;
  condition.unit = "Gb/s";
  EXPECT_EQ(HealthInWords(condition), "link_slow of mlx5_0/1: 100 Gb/s, 200 Gb/s expected");
}

}  // namespace
}  // namespace glim::core
