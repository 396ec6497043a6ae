#include "sdk/hfreduce/transport/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::hfreduce {
namespace {

using ::testing::HasSubstr;
using Way = Choice::Way;

const VerbsOffer kOffer{"rc", "mlx5_0:1", "", false};
const VerbsOffer kOfferNone{"", "", "it has no RDMA device", false};
const VerbsOffer kOfferDown{"", "", "mlx5_0:1 is DOWN", false};
const VerbsOffer kNamedDown{"", "", "mlx5_0:1 is DOWN", true};

TEST(Choice, VerbsAreTakenWhereEveryNodeHasThem) {
  for (const char* wanted : {"auto", "ucx", "verbs"}) {
    const Choice choice = Choose(wanted, {kOffer, kOffer});
    EXPECT_EQ(choice.way, Way::kVerbs) << wanted;
    EXPECT_TRUE(choice.error.ok());
  }
  EXPECT_EQ(Choose("tcp", {kOffer, kOffer}).way, Way::kTcp);
}

TEST(Choice, OneNodeWithoutThemDecidesForAllAndIsNamed) {
  const Choice choice = Choose("auto", {kOffer, kOffer, kOfferDown, kOffer});
  EXPECT_EQ(choice.way, Way::kTcp);
  EXPECT_TRUE(choice.error.ok());
  EXPECT_EQ(choice.why, "node 2: mlx5_0:1 is DOWN");
  EXPECT_EQ(Choose("auto", {kOfferNone, kOfferNone}).why, "every node: it has no RDMA device");
}

TEST(Choice, UcxTakesItsOwnTcpThenUnlessAPortWasNamed) {
  const Choice choice = Choose("ucx", {kOffer, kOfferNone});
  EXPECT_EQ(choice.way, Way::kUcxTcp);
  EXPECT_TRUE(choice.error.ok());
  const Choice named = Choose("ucx", {kOffer, kNamedDown});
  EXPECT_EQ(named.error.field(), "device");
  EXPECT_THAT(named.error.message(), HasSubstr("node 1: mlx5_0:1 is DOWN"));
}

TEST(Choice, VerbsThatWereAskedForAndAreNotThereAreAnError) {
  const Choice choice = Choose("verbs", {kOffer, kOfferDown});
  EXPECT_EQ(choice.error.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(choice.error.field(), "transport");
  EXPECT_THAT(choice.error.message(), HasSubstr("node 1: mlx5_0:1 is DOWN"));
  EXPECT_THAT(choice.error.fix(), HasSubstr("transport auto"));
}

TEST(Choice, AFailureAtSetUpIsToldAndPassedOnOnlyWhereNothingElseWillDo) {
  const Status failure = Status(StatusCode::kResourceExhausted, "node 1: no registered memory").WithFix("ulimit -l");
  EXPECT_EQ(ChooseWithoutVerbs("auto", failure).way, Way::kTcp);
  EXPECT_THAT(ChooseWithoutVerbs("auto", failure).why, HasSubstr("node 1: no registered memory"));
  EXPECT_EQ(ChooseWithoutVerbs("ucx", failure).way, Way::kUcxTcp);
  const Choice verbs = ChooseWithoutVerbs("verbs", failure);
  EXPECT_EQ(verbs.error.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(verbs.error.fix(), "ulimit -l");
  EXPECT_THAT(verbs.error.message(), HasSubstr("node 1: no registered memory"));
}

}  // namespace
}  // namespace glim::hfreduce
