// The words of the rows: each value has its own, and priorities are read by name and by number.
#include <gtest/gtest.h>

#include <set>
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

// Every value has a word of its own, and nothing beyond the last one has.
template <typename Enum>
void ExpectDistinctNames(int values) {
  std::set<std::string> names;
  for (int i = 0; i < values; ++i) names.insert(ToString(static_cast<Enum>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(values));
  EXPECT_FALSE(names.contains("?"));
  EXPECT_STREQ(ToString(static_cast<Enum>(values)), "?");
}

TEST(Names, AreDistinctAndComplete) {
  ExpectDistinctNames<Use>(static_cast<int>(kUses));
  ExpectDistinctNames<NvLink>(static_cast<int>(NvLink::kFull) + 1);
  ExpectDistinctNames<JobState>(static_cast<int>(JobState::kCancelled) + 1);
  ExpectDistinctNames<AttemptState>(static_cast<int>(AttemptState::kEnded) + 1);
  ExpectDistinctNames<Outcome>(static_cast<int>(Outcome::kRestoreFailed) + 1);
  ExpectDistinctNames<SaveResult>(static_cast<int>(SaveResult::kKilled) + 1);
  ExpectDistinctNames<StopCause>(static_cast<int>(StopCause::kFinished) + 1);
  ExpectDistinctNames<AgreementState>(static_cast<int>(AgreementState::kEnded) + 1);
  ExpectDistinctNames<TaskPhase>(static_cast<int>(TaskPhase::kReleased) + 1);
  ExpectDistinctNames<NodeState>(static_cast<int>(NodeState::kQuarantined) + 1);
  ExpectDistinctNames<BlockerKind>(static_cast<int>(BlockerKind::kCheckpointOn) + 1);
}

TEST(Names, SayWhatTheyMean) {
  EXPECT_STREQ(ToString(JobState::kInterrupting), "interrupting");
  EXPECT_STREQ(ToString(Outcome::kNodeFailure), "node_failure");
  EXPECT_STREQ(ToString(Outcome::kClaimDropped), "claim_dropped");
  EXPECT_STREQ(ToString(SaveResult::kLeftUnsaved), "left_unsaved");
  EXPECT_STREQ(ToString(AgreementState::kNoAgreement), "no_agreement");
  EXPECT_STREQ(ToString(Use::kProductive), "productive");
  EXPECT_EQ(ToString(AttemptId{JobId(12), 3}), "12.3");
}

}  // namespace
}  // namespace glim::core
