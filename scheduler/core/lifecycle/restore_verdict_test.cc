// A save that is its user's word alone, and is not there: the job's affair, and no node's.
#include "scheduler/core/lifecycle/restore_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::ScriptedAgent;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

// Nobody is killed by silence.
Policy PatientWithSilence() {
  Policy policy = testing::Patient();
  policy.outage_percent = 100;
  return policy;
}

// A job that says that it saved, and leaves. Its save is nowhere, as its second attempt finds at once.
struct Liar {
  explicit Liar(std::uint32_t restart_max, int nodes = 3) : c(Zones{.nodes = nodes}, PatientWithSilence()) {
    job = c.Submit(SpecWith(1, [&](JobSpec& spec) { spec.restart_max = restart_max; }));
    c.Settle();
    c.script(job).sees_saves = false;
    Lie(10);
  }
  void Lie(std::int64_t step) {
    c.Step(job, step);
    c.Save(job, step);
    c.EditAll(job, [](ObservedTask& task) {
      task.ranks[0].leaving = task.ranks[0].yielded = true;
      ScriptedAgent::Release(task, 0);
    });
    c.Settle();
  }
  // Until it is over, or so many tries.
  std::uint32_t Try(std::uint32_t most) {
    std::uint32_t tries = 0;
    for (int rounds = 0; !IsTerminal(c.job(job).state) && tries < most; ++rounds) {
      if (rounds > 1'000) return tries;  // it stands still
      const std::uint32_t before = c.job(job).attempts;
      if (c.job(job).not_before) c.Advance(c.job(job).not_before - c.now());
      c.Settle();
      if (c.job(job).attempts > before) ++tries;
    }
    return tries;
  }
  void ExpectNoSuspect() {
    c.state().tables().nodes.ForEach([](NodeId, const Node& node) { EXPECT_EQ(node.suspect, 0u) << node.suspect_why; });
  }
  Cluster c;
  JobId job;
};

TEST(SaveOfAUsersWord, ThatIsNotThereMakesNoNodeASuspectAndEndsTheJob) {
  Liar liar(0);
  liar.Try(50);
  EXPECT_EQ(liar.c.job(liar.job).state, JobState::kFailed);
  EXPECT_EQ(liar.c.job(liar.job).restore_failures, 2u) << "the second on another node";
  EXPECT_NE(liar.c.attempt(liar.job, 2).nodes, liar.c.attempt(liar.job, 3).nodes);
  EXPECT_THAT(liar.c.job(liar.job).message, HasSubstr("the save of step 10 that the job told of cannot be had on n"));
  EXPECT_THAT(liar.c.job(liar.job).message, HasSubstr("restart.max is reached: 0"));
  liar.ExpectNoSuspect();
}

TEST(SaveOfAUsersWord, IsTriedAsOftenAsItsSpecSaysWithPausesThatDouble) {
  Liar liar(5);
  liar.Try(2);
  EXPECT_EQ(liar.c.job(liar.job).restore_failures, 3u);
  EXPECT_EQ(liar.c.job(liar.job).not_before - liar.c.now(), Milliseconds(4 * liar.c.policy().restore_backoff.ms));
  liar.Try(50);
  EXPECT_EQ(liar.c.job(liar.job).state, JobState::kFailed);
  EXPECT_EQ(liar.c.job(liar.job).restore_failures, 7u);
  liar.ExpectNoSuspect();
}

TEST(SaveOfAUsersWord, OnOneNodeAloneEndsTheJobToo) {
  Liar liar(1, 1);
  liar.Try(50);
  EXPECT_EQ(liar.c.job(liar.job).state, JobState::kFailed);
  EXPECT_EQ(liar.c.job(liar.job).restore_failures, 3u);
  liar.ExpectNoSuspect();
}

TEST(SaveOfAUsersWord, TheSaveBeforeItIsTaken) {
  Cluster c(Zones{.nodes = 3}, PatientWithSilence());
  const JobId job = c.Running(Spec(1));
  c.Save(job, 10);
  c.Save(job, 20);
  ASSERT_EQ(c.job(job).older.size(), 1u);
  c.Suspend(job);
  c.Settle();
  ASSERT_EQ(c.job(job).state, JobState::kHeld);
  const std::int64_t newest = c.job(job).durable.step;
  const std::int64_t before = c.job(job).older[0].step;
  c.script(job).sees_saves = false;
  c.Resume(job);
  for (std::uint32_t tries = 1; tries <= kTriesOfASave; ++tries) {
    c.Settle();
    EXPECT_EQ(c.job(job).restore_failures, tries);
    if (tries < kTriesOfASave) {
      EXPECT_EQ(c.job(job).durable.step, newest) << tries;
      c.Advance(c.job(job).not_before - c.now());
    }
  }
  EXPECT_EQ(c.job(job).durable.step, before);
  EXPECT_EQ(c.job(job).steps_lost, newest - before);
  EXPECT_EQ(c.Noted(HistoryKind::kSaveGivenUp), 1);
  EXPECT_THAT(c.job(job).message, HasSubstr("is not there, "));
  c.script(job).sees_saves = true;
  c.Advance(c.job(job).not_before - c.now());
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.attempt(job).base.step, before);
}

}  // namespace
}  // namespace glim::core
