// Priorities are read by name and by number; rows say what they mean. (Completeness: enum_words_test.)
#include <gtest/gtest.h>

#include <string>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/core/model/spec.h"

namespace glim::core {
namespace {

TEST(ParsePriority, ByNameAndByNumber) {
  const std::pair<const char*, PriorityClass> kRows[] = {
      {"extreme_high", PriorityClass::kExtremeHigh},
      {"50", PriorityClass::kExtremeHigh},
      {"very_high", PriorityClass::kVeryHigh},
      {"40", PriorityClass::kVeryHigh},
      {"high", PriorityClass::kHigh},
      {"30", PriorityClass::kHigh},
      {"above_normal", PriorityClass::kAboveNormal},
      {"above-normal", PriorityClass::kAboveNormal},
      {"20", PriorityClass::kAboveNormal},
      {"normal", PriorityClass::kNormal},
      {"10", PriorityClass::kNormal},
      {"under_normal", PriorityClass::kUnderNormal},
      {"8", PriorityClass::kUnderNormal},
      {"below-normal", PriorityClass::kBelowNormal},
      {"5", PriorityClass::kBelowNormal},
      {"low", PriorityClass::kLow},
      {"0", PriorityClass::kLow},
      {"auto", PriorityClass::kAuto},
      {"-1", PriorityClass::kAuto},
  };
  for (const auto& [text, expected] : kRows) {
    SCOPED_TRACE(text);
    const auto parsed = ParsePriority(text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(*parsed, expected);
  }
}

TEST(ParsePriority, RefusesTheRestAndListsTheClasses) {
  for (const char* text : {"", "urgent", "High", "1", "51", "050", "10 ", "normal\n"}) {
    SCOPED_TRACE(text);
    const auto parsed = ParsePriority(text);
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.status().field(), "priority");
    EXPECT_NE(parsed.status().fix().find("extreme_high"), std::string::npos);
  }
  EXPECT_LT(ParsePriority(std::string(100'000, 'x')).status().message().size(), 200u);
}

TEST(ParsePriority, WhatIsPrintedIsReadBack) {
  for (const int number : {-1, 0, 5, 8, 10, 20, 30, 40, 50}) {
    const auto priority = static_cast<PriorityClass>(number);
    EXPECT_EQ(ParsePriority(ToString(priority)).value(), priority);
    EXPECT_EQ(ParsePriority(std::to_string(number)).value(), priority);
  }
}

TEST(Names, SayWhatTheyMean) {
  EXPECT_STREQ(ToString(JobState::kInterrupting), "interrupting");
  EXPECT_STREQ(ToString(Outcome::kNodeFailure), "node_failure");
  EXPECT_STREQ(ToString(Outcome::kClaimDropped), "claim_dropped");
  EXPECT_STREQ(ToString(SaveResult::kLeftUnsaved), "left_unsaved");
  EXPECT_STREQ(ToString(AgreementState::kNoAgreement), "no_agreement");
  EXPECT_STREQ(ToString(Use::kProductive), "productive");
  EXPECT_STREQ(ToString(Outcome::kNone), "");
  EXPECT_STREQ(ToString(static_cast<JobState>(200)), "?");
  EXPECT_EQ(ToString(AttemptId{JobId(12), 3}), "12.3");
}

}  // namespace
}  // namespace glim::core
