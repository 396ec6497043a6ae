// How attempts end, and what each end says was lost.
#include "scheduler/core/lifecycle/attempt_end.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::ScriptedAgent;
using testing::Spec;
using testing::Zones;

struct End {
  const char* what;
  void (*happen)(Cluster&, JobId);
  Outcome outcome;
  SaveResult save;
  std::int64_t steps_lost;
  JobState state;  // of the job, at once
  const char* message;
};

void Interrupt(Cluster& c) { c.Submit(Spec(2, PriorityClass::kHigh), "bob"); }

// Job 1 runs on two nodes, has saved at step 40, and has reached step 50.
const End kEnds[] = {
    {"success", [](Cluster& c, JobId job) { c.Finish(job); }, Outcome::kSucceeded, SaveResult::kNone, 0,
     JobState::kSucceeded, ""},
    {"success, and something still ran",
     [](Cluster& c, JobId job) {
       c.Edit(job, 1, [](ObservedTask& task) {
         task.left_behind = 2;
         task.left_names = "cp, sleep";
       });
       c.Finish(job);
     },
     Outcome::kSucceeded, SaveResult::kNone, 0, JobState::kSucceeded,
     "2 processes that its ranks had left running were stopped at its end (cp, sleep): end the script with `wait` if "
     "it is to wait for them"},
    {"saved and left",
     [](Cluster& c, JobId) {
       Interrupt(c);
       c.Settle();
     },
     Outcome::kInterrupted, SaveResult::kSaved, 0, JobState::kQueued, "saved and left, 0 steps lost"},
    {"left without saving",
     [](Cluster& c, JobId job) {
       c.script(job).saves = false;
       Interrupt(c);
       c.Settle();
     },
     Outcome::kInterrupted, SaveResult::kLeftUnsaved, 10, JobState::kQueued, "left without saving, 10 steps lost"},
    {"no agreement, left unsaved",
     [](Cluster& c, JobId job) {
       c.script(job).acks = false;
       Interrupt(c);
       c.Advance(Seconds(10));
       c.Settle();
     },
     Outcome::kInterrupted, SaveResult::kLeftUnsaved, 10, JobState::kQueued, "left without saving, 10 steps lost"},
    {"killed at the deadline",
     [](Cluster& c, JobId job) {
       c.script(job).acks = c.script(job).leaves = false;
       Interrupt(c);
       c.Advance(Seconds(60));
       c.Settle();
     },
     Outcome::kInterrupted, SaveResult::kKilled, 10, JobState::kQueued, "killed, 10 steps lost"},
    {"saved, but killed because it did not leave",
     [](Cluster& c, JobId job) {
       c.script(job).leaves = false;
       Interrupt(c);
       c.Settle();
       c.Advance(Seconds(60));
       c.Settle();
     },
     Outcome::kInterrupted, SaveResult::kKilled, 0, JobState::kQueued, "killed, 0 steps lost"},
    {"a failing rank",
     [](Cluster& c, JobId job) {
       c.Exit(job, 1, 7);
       c.Settle();
     },
     Outcome::kFailed, SaveResult::kNone, 10, JobState::kFailed, "rank 1 on node n2 exited with code 7"},
    {"a failing rank after others have left in an interrupt",
     [](Cluster& c, JobId job) {
       Interrupt(c);
       c.Exit(job, 0, 0);
       c.Exit(job, 1, 7);
       c.Settle();
     },
     Outcome::kFailed, SaveResult::kNone, 10, JobState::kFailed, "rank 1 on node n2 exited with code 7"},
    {"a node failure",
     [](Cluster& c, JobId job) {
       c.Edit(job, 1, [](ObservedTask& task) { task.lost = true; });
       c.Settle();
     },
     Outcome::kNodeFailure, SaveResult::kNone, 10, JobState::kQueued, "its task was lost on node n2; 10 steps lost"},
    {"a cancel",
     [](Cluster& c, JobId job) {
       c.Cancel(job);
       c.Settle();
     },
     Outcome::kCancelled, SaveResult::kNone, 10, JobState::kCancelled, "cancelled by ann"},
    {"a cancel of an interrupted job",
     [](Cluster& c, JobId job) {
       Interrupt(c);
       c.Cancel(job);
       c.Settle();
     },
     Outcome::kCancelled, SaveResult::kNone, 10, JobState::kCancelled, "cancelled by ann"},
    {"a yield that did not save",
     [](Cluster& c, JobId job) {
       for (const std::uint32_t i : {0u, 1u}) {
         c.Edit(job, i, [](ObservedTask& task) {
           task.ranks[0].leaving = task.ranks[0].yielded = true;
           ScriptedAgent::Release(task, 0);
         });
       }
     },
     Outcome::kInterrupted, SaveResult::kLeftUnsaved, 10, JobState::kQueued, "left without saving, 10 steps lost"},
    {"a yield that saved first",
     [](Cluster& c, JobId job) {
       c.Save(job, 50);
       for (const std::uint32_t i : {0u, 1u}) {
         c.Edit(job, i, [](ObservedTask& task) {
           task.ranks[0].leaving = task.ranks[0].yielded = true;
           ScriptedAgent::Release(task, 0);
         });
       }
     },
     Outcome::kInterrupted, SaveResult::kSaved, 0, JobState::kQueued, "saved and left, 0 steps lost"},
};

TEST(AttemptEnd, NamesTheOutcomeAndCountsWhatWasLost) {
  for (const End& row : kEnds) {
    SCOPED_TRACE(row.what);
    Cluster c;
    const JobId job = c.Running(Spec(2));
    c.Save(job, 40);
    c.Step(job, 50);
    row.happen(c, job);
    const Attempt& ended = c.attempt(job, 1);
    EXPECT_EQ(ended.state, AttemptState::kEnded);
    EXPECT_STREQ(ToString(ended.outcome), ToString(row.outcome));
    EXPECT_STREQ(ToString(ended.save), ToString(row.save));
    EXPECT_EQ(ended.steps_lost, row.steps_lost);
    EXPECT_EQ(ended.message, row.message);
    EXPECT_EQ(c.job(job).steps_lost, row.steps_lost);
    // Who may go on may have been started again already.
    if (row.state != JobState::kQueued) {
      EXPECT_STREQ(ToString(c.job(job).state), ToString(row.state));
    } else {
      EXPECT_FALSE(IsTerminal(c.job(job).state));
    }
    for (const Agreement& agreement : ended.agreements) {
      EXPECT_EQ(agreement.state, AgreementState::kEnded);
      EXPECT_GE(agreement.released_at, agreement.left_at);
      EXPECT_TRUE(agreement.left_at);
    }
  }
}

TEST(AttemptEnd, StartFailuresAndTimeouts) {
  Cluster failed;
  const JobId bad = failed.Submit(Spec(1));
  failed.script(bad).starts = false;
  failed.Settle();
  EXPECT_EQ(failed.attempt(bad).outcome, Outcome::kStartFailed);
  EXPECT_EQ(failed.attempt(bad).steps_lost, 0);

  Cluster slow;
  const JobId late = slow.Submit(Spec(1));
  slow.script(late).runs = false;
  slow.Settle();
  slow.Advance(slow.policy().start_max);
  EXPECT_EQ(slow.attempt(late).stop, StopCause::kStartTimeout);
  slow.Settle();
  EXPECT_EQ(slow.attempt(late).outcome, Outcome::kStartFailed);
  EXPECT_EQ(slow.job(late).state, JobState::kQueued);
  EXPECT_EQ(slow.job(late).start_failures, 1u);
}

TEST(StepsLost, CountFromTheBaseIfThisAttemptSavedNothing) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Step(job, 40);
  c.Suspend(job);
  c.Settle();
  c.Resume(job);
  c.Settle();
  ASSERT_EQ(c.attempt(job).base.step, 41);
  c.Step(job, 45);
  c.Exit(job, 0, 1);
  c.Settle();
  EXPECT_EQ(c.attempt(job).steps_lost, 4);
}

TEST(StepsLost, NothingIsLostBeforeTheFirstStep) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  c.Exit(job, 0, 1);
  EXPECT_EQ(c.attempt(job).steps_lost, 0);
}

}  // namespace
}  // namespace glim::core
