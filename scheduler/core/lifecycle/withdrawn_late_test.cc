// A preemptor that goes away when ranks have acted on its interrupt already.
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::ScriptedAgent;
using testing::Spec;

// A job that is asked to leave for another one, which waits for all its nodes.
struct Asked {
  explicit Asked(std::uint32_t nodes) : c({.nodes = static_cast<int>(nodes)}) {
    job = c.Running(Spec(nodes));
    urgent = c.Submit(Spec(nodes, PriorityClass::kHigh), "bob");
  }
  void SayLeaving(std::uint32_t index) {
    c.Edit(job, index, [](ObservedTask& task) { task.ranks[0].leaving = true; });
  }
  void Leave(std::uint32_t index) {
    SayLeaving(index);
    c.Exit(job, index, 0);
  }
  Cluster c;
  JobId job, urgent;
};

TEST(AWithdrawal, IsTooLateWhenARankLeaves) {
  Asked a(2);
  const JobId earlier = a.c.Submit(Spec(2), "eve");
  a.SayLeaving(0);
  a.c.Cancel(a.urgent, "bob");
  EXPECT_EQ(a.c.agreement(a.job).state, AgreementState::kNotifying);
  EXPECT_TRUE(a.c.agreement(a.job).swap_aborted);
  a.c.Exit(a.job, 0, 0);
  a.Leave(1);
  EXPECT_EQ(a.c.attempt(a.job, 1).outcome, Outcome::kInterrupted);
  a.c.Settle();
  EXPECT_EQ(a.c.job(a.job).state, JobState::kRunning) << "it comes first in its class";
  EXPECT_EQ(a.c.job(earlier).state, JobState::kQueued);
}

TEST(AWithdrawal, IsTooLateWhenARankHasEnded) {
  Asked a(2);
  a.c.Edit(a.job, 0, [](ObservedTask& task) { task.ranks[0].exited = true; });  // its processes are still there
  a.c.Cancel(a.urgent, "bob");
  EXPECT_EQ(a.c.agreement(a.job).state, AgreementState::kNotifying);
}

TEST(AWithdrawal, IsNotHinderedByARankWhoseStepsAreOver) {
  Asked a(2);
  a.c.Edit(a.job, 0, [](ObservedTask& task) { task.ranks[0].finished = task.ranks[0].exited = true; });
  a.c.Cancel(a.urgent, "bob");
  EXPECT_EQ(a.c.agreement(a.job).state, AgreementState::kWithdrawn);
}

TEST(ARankThatLeft, WhileTheInterruptWasWithdrawnHasNotEndedItsJobWell) {
  Asked a(1);
  a.c.Cancel(a.urgent, "bob");
  ASSERT_EQ(a.c.agreement(a.job).state, AgreementState::kWithdrawn);
  a.Leave(0);
  EXPECT_EQ(a.c.attempt(a.job, 1).outcome, Outcome::kInterrupted);
  a.c.Settle();
  EXPECT_EQ(a.c.job(a.job).state, JobState::kRunning);
  EXPECT_EQ(a.c.attempt(a.job).id.number, 2u);
}

TEST(ARankThatLeft, InOneReportWithItsExitHasNotEndedItsJobWell) {
  Asked a(1);
  a.c.Cancel(a.urgent, "bob");
  a.c.Edit(a.job, 0, [](ObservedTask& task) {
    task.ranks[0].leaving = true;
    ScriptedAgent::Release(task, 0);
  });
  EXPECT_EQ(a.c.attempt(a.job, 1).outcome, Outcome::kInterrupted);
}

TEST(ARankThatLeft, TakesItsGangWithIt) {
  Asked a(2);
  a.c.Step(a.job, 40);
  a.c.Cancel(a.urgent, "bob");
  const JobId earlier = a.c.Submit(Spec(2), "eve");
  a.Leave(0);
  EXPECT_EQ(a.c.agreement(a.job).id, 2u) << "the others are asked anew";
  EXPECT_EQ(a.c.agreement(a.job).state, AgreementState::kNotifying);
  EXPECT_EQ(a.c.job(a.job).state, JobState::kInterrupting);
  a.c.Settle();
  EXPECT_EQ(a.c.attempt(a.job, 1).outcome, Outcome::kInterrupted);
  EXPECT_EQ(a.c.attempt(a.job).id.number, 2u);
  EXPECT_EQ(a.c.job(earlier).state, JobState::kQueued);
}

TEST(ARankThatLeft, LetsNobodysCrashPassForASuccess) {
  Asked a(2);
  a.c.Cancel(a.urgent, "bob");
  a.Leave(0);
  a.c.script(a.job).acks = false;
  a.c.Advance(Seconds(60));
  a.c.Settle();
  EXPECT_EQ(a.c.attempt(a.job, 1).save, SaveResult::kKilled) << "the gang does not stand for a day";
  EXPECT_EQ(a.c.attempt(a.job, 1).outcome, Outcome::kInterrupted);
}

TEST(ARankThatLeft, WithASaveHasLeftSaved) {
  Asked a(1);
  a.c.Cancel(a.urgent, "bob");
  a.c.Save(a.job, 40);
  a.Leave(0);
  EXPECT_EQ(a.c.attempt(a.job, 1).save, SaveResult::kSaved);
  EXPECT_EQ(a.c.attempt(a.job, 1).steps_lost, 0);
}

TEST(AYield, AfterAnInterruptThatWasWithdrawnIsItsOwn) {
  Asked a(2);
  a.c.Cancel(a.urgent, "bob");
  a.c.Edit(a.job, 0, [](ObservedTask& task) { task.ranks[0].leaving = task.ranks[0].yielded = true; });
  EXPECT_EQ(a.c.attempt(a.job).agreements.size(), 1u);
}

}  // namespace
}  // namespace glim::core
