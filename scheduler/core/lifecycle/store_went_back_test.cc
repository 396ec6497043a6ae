// A store that went back to a backup: it has forgotten interrupts that ranks have heard of.
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;

void SayLeaving(Cluster& c, JobId job, std::uint32_t index) {
  c.Edit(job, index, [](ObservedTask& task) { task.ranks[0].leaving = true; });
}

TEST(ALeaveForAForgottenInterrupt, IsNoSuccess) {
  Cluster c({.nodes = 1});
  const JobId job = c.Running(Spec(1));
  c.Step(job, 40);
  c.Edit(job, 0, [](ObservedTask& task) {
    task.ranks[0].leaving = true;
    testing::ScriptedAgent::Release(task, 0);
  });
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kInterrupted);
  c.Advance(Seconds(10));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "it goes on";
  EXPECT_EQ(c.attempt(job).id.number, 2u);
}

TEST(ALeaveForAForgottenInterrupt, CountsAsALeaveOfItsOwn) {
  Cluster c({.nodes = 1});
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  SayLeaving(c, job, 0);
  c.Exit(job, 0, 0);
  ASSERT_EQ(c.attempt(job, 1).outcome, Outcome::kInterrupted);
  EXPECT_FALSE(c.job(job).swap_aborted) << "a job that leaves unasked does not come first";
  EXPECT_EQ(c.job(job).idle_yields, 1u) << "the next attempt waits, as after a yield";
}

TEST(ALeaveForAForgottenInterrupt, TakesItsGangWithIt) {
  Cluster c({.nodes = 2});
  const JobId job = c.Running(Spec(2));
  SayLeaving(c, job, 0);
  ASSERT_EQ(c.attempt(job).agreements.size(), 1u) << "the others wait for it in their next step";
  EXPECT_EQ(c.agreement(job).reason, "a rank has left for an interrupt that this store does not have");
  EXPECT_EQ(c.agreement(job).state, AgreementState::kNotifying);
}

TEST(ALeaveForAForgottenInterrupt, WithASaveHasLeftSaved) {
  Cluster c({.nodes = 1});
  const JobId job = c.Running(Spec(1));
  c.Step(job, 40);
  c.Save(job, 40);
  SayLeaving(c, job, 0);
  c.Exit(job, 0, 0);
  EXPECT_EQ(c.attempt(job, 1).save, SaveResult::kSaved);
  EXPECT_EQ(c.attempt(job, 1).steps_lost, 0);
}

TEST(AnAgreement, HasANumberThatNoRankHasHad) {
  Cluster c({.nodes = 2});
  const JobId job = c.Running(Spec(2));
  c.Edit(job, 1, [](ObservedTask& task) { task.ranks[0].acked_agreement = 3; });
  c.Suspend(job);
  EXPECT_EQ(c.agreement(job).id, 4u) << "a rank does not listen to a number that is not above its last one";
}

TEST(AnAgreement, IsNotNumberedByAWordThatCannotBeTrue) {
  Cluster c({.nodes = 1});
  const JobId job = c.Running(Spec(1));
  c.Edit(job, 0, [](ObservedTask& task) { task.ranks[0].acked_agreement = 4'000'000'000; });
  c.Suspend(job);
  EXPECT_EQ(c.agreement(job).id, 1u);
}

}  // namespace
}  // namespace glim::core
