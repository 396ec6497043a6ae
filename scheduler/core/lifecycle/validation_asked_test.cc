// An operator asks for a node to be measured: who has it stays, nobody else gets it before it was found good.
#include "scheduler/core/lifecycle/validation_asked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/lifecycle/suspicion.h"
#include "scheduler/core/lifecycle/validation.h"
#include "scheduler/core/testing/validations.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Measured;
using testing::MeasuringOf;
using testing::Spec;
using ::testing::StartsWith;
using testing::Validating;
using testing::ValidationOf;
using testing::Zones;

const NodeId kNode{1}, kOther{2};

struct ANodeThatIsAskedFor : ::testing::Test {
  Cluster c{Zones{.nodes = 2}, Validating({})};

  Status Ask(bool full = false, std::vector<std::string> folders = {}, bool dry_run = false) {
    return c.Do(ValidateNode{"n1", "ann", full, std::move(folders), dry_run}).status;
  }
  const std::string& Command() { return c.job(MeasuringOf(c, kNode)).spec->run; }
};

TEST_F(ANodeThatIsAskedFor, IsMeasuredAtOnceWhereItIsFree) {
  ASSERT_TRUE(Ask().ok());
  EXPECT_EQ(Command(), "exec glim-validate --quick --json");
  const JobId job = c.Submit(Spec(2));
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_THAT(c.Blockers(job)[0].message, HasSubstr("waits to be measured: an operator asked for it, and job 1"));
  Measured(c, kNode, 0);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  NodeValidation good;
  good.good_at = ValidationOf(c, kNode).good_at;
  good.last = JobId(1);
  EXPECT_EQ(ValidationOf(c, kNode), good) << "nothing is asked for any more";
  EXPECT_TRUE(good.good_at);
}

TEST_F(ANodeThatIsAskedFor, IsMeasuredBeforeItsNextJobWhereSomebodyHasIt) {
  const JobId runs = c.Submit(Spec(2));
  c.Settle();
  ASSERT_TRUE(Ask().ok());
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kExtremeHigh));
  c.Settle();
  EXPECT_EQ(c.job(runs).state, JobState::kRunning) << "nobody leaves for a measurement, nor for a node that is out";
  c.Finish(runs);
  EXPECT_TRUE(MeasuringOf(c, kNode));
  EXPECT_EQ(c.job(urgent).state, JobState::kQueued);
  Measured(c, kNode, 0);
  EXPECT_EQ(c.job(urgent).state, JobState::kRunning);
}

TEST_F(ANodeThatIsAskedFor, IsGivenUpByWhoeverWaitsForIt) {
  const JobId runs = c.Submit(Spec(2, PriorityClass::kLow));
  c.Settle();
  c.Advance(Hours(2));
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kExtremeHigh));
  ASSERT_EQ(c.node(kNode).claim.job, urgent);
  ASSERT_TRUE(Ask().ok());
  EXPECT_FALSE(c.node(kNode).claim);
  c.Settle();
  EXPECT_NE(c.job(urgent).state, JobState::kRunning);
  EXPECT_NE(c.job(runs).state, JobState::kFailed);
}

TEST_F(ANodeThatIsAskedFor, IsMeasuredAsItWasAskedFor) {
  ASSERT_TRUE(Ask(true, {"/ckpt/validate", "/local"}).ok());
  EXPECT_EQ(Command(), "exec glim-validate --full --json --folder /ckpt/validate --folder /local");
  const JobSpec& spec = *c.job(MeasuringOf(c, kNode)).spec;
  ASSERT_EQ(spec.mounts.size(), 2u);
  EXPECT_EQ(spec.mounts[0], (Mount{"/ckpt/validate", "/ckpt/validate", false}));
  EXPECT_EQ(spec.time_limit, Hours(8));
  Measured(c, kNode, 0);
  ASSERT_TRUE(Ask().ok());
  EXPECT_EQ(Command(), "exec glim-validate --quick --json") << "the next time as usual";
}

TEST_F(ANodeThatIsAskedFor, IsCordonedByHealthWhenItIsBad) {
  ASSERT_TRUE(Ask().ok());
  Measured(c, kNode, 3, "a slow core");
  ASSERT_TRUE(c.node(kNode).cordon);
  EXPECT_EQ(c.node(kNode).cordon->by, "health");
  EXPECT_EQ(ValidationOf(c, kNode).bad, "a slow core");
  ASSERT_TRUE(c.Do(UncordonNode{"n1", "ann"}).status.ok());
  EXPECT_TRUE(MeasuringOf(c, kNode)) << "and measured again when it is given back";
}

TEST_F(ANodeThatIsAskedFor, WaitsForItsReturnWhereItIsCordoned) {
  c.Do(CordonNode{"n1", "ann", "a new fan", {}});
  ASSERT_TRUE(Ask().ok());
  EXPECT_FALSE(MeasuringOf(c, kNode));
  ASSERT_TRUE(c.Do(UncordonNode{"n1", "ann"}).status.ok());
  EXPECT_TRUE(MeasuringOf(c, kNode));
}

TEST_F(ANodeThatIsAskedFor, TakesJobsAsItIsWhenAnOperatorSaysSo) {
  ASSERT_TRUE(Ask(true).ok());
  Measured(c, kNode, 127);
  EXPECT_EQ(ValidationOf(c, kNode).again_at, c.now() + kMeasureAgainWaiting);
  ASSERT_TRUE(c.Do(UncordonNode{"n1", "ann"}).status.ok());
  NodeValidation none;
  none.last = JobId(1);
  EXPECT_EQ(ValidationOf(c, kNode), none);
}

TEST_F(ANodeThatIsAskedFor, IsMeasuredAgainWhenItIsAskedForMeanwhile) {
  ASSERT_TRUE(Ask().ok());
  c.Advance(Seconds(1));
  ASSERT_TRUE(Ask(true).ok());
  Measured(c, kNode, 0);
  EXPECT_EQ(Command(), "exec glim-validate --full --json") << "the first one had begun before";
  Measured(c, kNode, 0);
  EXPECT_EQ(ValidationOf(c, kNode).need, ValidationNeed::kNone);
}

TEST_F(ANodeThatIsAskedFor, IsAskedForAtOnceAlsoInThePauseAfterATry) {
  ASSERT_TRUE(Ask().ok());
  Measured(c, kNode, 127);
  EXPECT_FALSE(MeasuringOf(c, kNode));
  ASSERT_TRUE(Ask().ok());
  EXPECT_TRUE(MeasuringOf(c, kNode));
}

TEST_F(ANodeThatIsAskedFor, HasAPartnerWhereAJobStoodStillThere) {
  Changes changes(c.state(), c.policy(), c.now());
  Suspect(changes, kNode, "job 5 stood still there");
  c.Commit(changes.Take());
  ASSERT_TRUE(Ask().ok());
  EXPECT_THAT(Command(), StartsWith("glim-validate --part network"));
  EXPECT_EQ(c.node(kOther).holder.job, MeasuringOf(c, kNode));
}

TEST_F(ANodeThatIsAskedFor, GoesOnUnderANewLeader) {
  const JobId runs = c.Submit(Spec(2));
  c.Settle();
  ASSERT_TRUE(Ask(true, {"/ckpt"}).ok());
  c.RestartScheduler();
  c.Return(kNode);
  c.Return(kOther);
  EXPECT_EQ(ValidationOf(c, kNode).need, ValidationNeed::kAsked);
  EXPECT_EQ(ValidationOf(c, kNode).folders, std::vector<std::string>{"/ckpt"});
  c.Finish(runs);
  EXPECT_EQ(Command(), "exec glim-validate --full --json --folder /ckpt");
}

TEST_F(ANodeThatIsAskedFor, StaysAsItIsInADryRun) {
  EXPECT_TRUE(Ask(false, {}, true).ok());
  EXPECT_EQ(ValidationOf(c, kNode), NodeValidation());
}

TEST_F(ANodeThatIsAskedFor, IsRefusedByWhatIsWrong) {
  EXPECT_EQ(c.Do(ValidateNode{"n9", "ann"}).status.reason(), "NO_SUCH_NODE");
  for (const char* folder : {"ckpt", "/", "/a b", "/a;reboot", "/a/../b", "/$HOME", "/a'"}) {
    const Status refused = Ask(false, {"/ok", folder});
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument) << folder;
    EXPECT_EQ(refused.field(), "folders[1]") << folder;
    EXPECT_NE(refused.fix(), "") << folder;
  }
  EXPECT_THAT(Ask(false, {"/ok", "/ok"}).message(), HasSubstr("/ok is named twice"));
  EXPECT_THAT(Ask(false, std::vector<std::string>(17, "/ok")).message(), HasSubstr("17 are too many"));
  EXPECT_EQ(ValidationOf(c, kNode), NodeValidation());
}

TEST_F(ANodeThatIsAskedFor, IsRefusedWhileItIsReserved) {
  Reservation row;
  row.name = "r1";
  row.node_names = {"n1"};
  row.ends_at = c.now() + Hours(2);
  row.reason = "a demo";
  const Status set = c.Do(SetReservation{row, "op"}).status;
  ASSERT_TRUE(set.ok()) << set.message();
  c.Settle();
  EXPECT_EQ(Ask().reason(), "NODE_RESERVED");
}

}  // namespace
}  // namespace glim::core
