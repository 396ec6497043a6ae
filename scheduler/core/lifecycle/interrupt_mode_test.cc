// interrupt.mode: auto: a job that has never said hello gets its signal at the request; one that has, the flag.
#include <gtest/gtest.h>

#include "scheduler/core/model/interrupt_terms.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::SpecWith;

JobSpec Auto() {
  return SpecWith(2, [](JobSpec& s) { s.interrupt_mode = InterruptMode::kAuto; });
}

// Job 1 of both nodes says hello, or does not; job 2, more urgent, waits for them.
struct Asked {
  explicit Asked(bool speaks, JobSpec spec = Auto()) {
    job = c.Submit(std::move(spec));
    c.script(job).speaks = speaks;
    c.Settle();
    c.Advance(Minutes(1));
    urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  }
  void SayHello() {
    c.Edit(job, 0, [](ObservedTask& task) { task.ranks[0].connected = task.ranks[0].greeted = true; });
  }
  Cluster c;
  JobId job, urgent;
};

TEST(InterruptModeAuto, IsTheDefault) { EXPECT_EQ(JobSpec().interrupt_mode, InterruptMode::kAuto); }

TEST(InterruptModeAuto, WhoHasNeverSaidHelloGetsItsSignalAtOnce) {
  Asked a(false);
  EXPECT_EQ(a.c.agreement(a.job).state, AgreementState::kSignalled);
  EXPECT_FALSE(a.c.job(a.job).cooperative);
  a.c.Exit(a.job, 0, 0);
  a.c.Exit(a.job, 1, 7);
  EXPECT_EQ(a.c.attempt(a.job, 1).outcome, Outcome::kInterrupted) << "every exit of a signalled round is an interrupt";
  EXPECT_EQ(a.c.job(a.job).state, JobState::kQueued);
}

TEST(InterruptModeAuto, AnErrorAfterTheSignalIsTold) {
  Asked a(false);
  a.c.Edit(a.job, 1, [](ObservedTask& task) { task.ranks[0].cause = "RuntimeError: a worker was killed"; });
  a.c.Exit(a.job, 0, 0);
  a.c.Exit(a.job, 1, 1);
  const Attempt& ended = a.c.attempt(a.job, 1);
  EXPECT_EQ(ended.message,
            "left, and reported neither steps nor a save; rank 1 on node n2 exited with code 1: RuntimeError: a worker "
            "was killed");
  EXPECT_EQ(ended.failed_rank, 1);
  EXPECT_EQ(ended.exit_code, 1);
}

TEST(InterruptModeAuto, ADeathByTheSignalIsNoError) {
  Asked a(false);
  a.c.Exit(a.job, 0, 128 + 15);
  a.c.Exit(a.job, 1, 128 + 15);
  EXPECT_EQ(a.c.attempt(a.job, 1).message, "left, and reported neither steps nor a save");
  EXPECT_EQ(a.c.attempt(a.job, 1).failed_rank, -1);
}

TEST(InterruptModeAuto, WhoHasSaidHelloIsAskedByTheFlag) {
  Asked a(true);
  EXPECT_TRUE(a.c.job(a.job).cooperative);
  EXPECT_EQ(a.c.agreement(a.job).state, AgreementState::kNotifying);
}

// Its next attempt may be asked before its SDK is imported.
TEST(InterruptModeAuto, AHelloCountsForAllLaterAttempts) {
  Asked a(true);
  a.c.Settle();
  a.c.script(a.job).speaks = false;
  a.c.Finish(a.urgent);
  a.c.Settle();
  ASSERT_EQ(a.c.attempt(a.job).id.number, 2u);
  a.c.RestartScheduler();
  for (const NodeId node : {NodeId(1), NodeId(2)}) a.c.Return(node);
  a.c.Advance(Minutes(1));
  a.c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  EXPECT_EQ(a.c.agreement(a.job).state, AgreementState::kNotifying);
}

TEST(InterruptModeAuto, AHelloInASignalledRoundCountsFromTheNext) {
  Asked a(false);
  a.SayHello();
  a.c.Advance(Seconds(1));
  EXPECT_EQ(a.c.agreement(a.job).state, AgreementState::kSignalled) << "the signal is out";
  EXPECT_TRUE(a.c.job(a.job).cooperative);
  a.c.Settle();
  EXPECT_EQ(a.c.attempt(a.job, 1).outcome, Outcome::kInterrupted);
  a.c.Finish(a.urgent);
  a.c.Settle();
  a.c.Advance(Minutes(1));
  a.c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  EXPECT_EQ(a.c.agreement(a.job).state, AgreementState::kNotifying);
}

TEST(InterruptModeAuto, WhoSaysAModeHasIt) {
  for (const bool speaks : {false, true}) {
    Asked flag(speaks, SpecWith(2, [](JobSpec& s) { s.interrupt_mode = InterruptMode::kCooperative; }));
    EXPECT_EQ(flag.c.agreement(flag.job).state, AgreementState::kNotifying);
    Asked signal(speaks, SpecWith(2, [](JobSpec& s) { s.interrupt_mode = InterruptMode::kSignal; }));
    EXPECT_EQ(signal.c.agreement(signal.job).state, AgreementState::kSignalled);
  }
}

TEST(InterruptModeAuto, TheStatusSaysWhichKindItIs) {
  const Policy policy;
  EXPECT_EQ(AskedInWords(policy, Asked(false).c.job(JobId(1))),
            "SIGTERM, until the SDK or glim-task says hello; grace 1m");
  EXPECT_EQ(AskedInWords(policy, Asked(true).c.job(JobId(1))), "the SDK or glim-task, which has said hello; grace 1m");
}

}  // namespace
}  // namespace glim::core
