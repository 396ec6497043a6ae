// What falls due when time passes; NextWake says when to look.
#include "scheduler/core/lifecycle/timers.h"
#include "scheduler/core/testing/specs.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Patient;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

TEST(NextWake, AnEmptyClusterNeedsNone) {
  const ClusterState state;
  EXPECT_FALSE(NextWake(state, Policy{}));
}

TEST(NextWake, IsTheEarliestDeadline) {
  struct Row {
    const char* what;
    void (*reach)(Cluster&);
    Duration wake;  // from then on
    const char* words;
  };
  const Row kRows[] = {
      {"a start that takes too long", [](Cluster& c) { c.Submit(Spec(1)); }, Minutes(5),
       "job 1 must have been seen running on every node"},
      {"an agreement that is to be reached",
       [](Cluster& c) {
         c.Running(Spec(2));
         c.Suspend(JobId(1));
       },
       Seconds(10), "job 1 must have agreed on its last step"},
      {"an attempt that is to leave",
       [](Cluster& c) {
         c.Running(Spec(2));
         c.script(JobId(1)).leaves = false;
         c.Suspend(JobId(1));
         c.Settle();
       },
       Seconds(60), "job 1 must have left its nodes"},
      {"a signalled job",
       [](Cluster& c) {
         c.Running(SpecWith(2, [](JobSpec& s) { s.interrupt_mode = InterruptMode::kSignal; }));
         c.Suspend(JobId(1));
       },
       Seconds(60), "job 1 must have left its nodes"},
      {"a task that is to go",
       [](Cluster& c) {
         c.Running(Spec(1));
         c.Cancel(JobId(1));
       },
       Seconds(65), "job 1 must have given its nodes back"},
      {"a backoff",
       [](Cluster& c) {
         c.Running(Spec(1));
         for (int fault = 0; fault < 2; ++fault) {  // the first restart has no pause
           c.Edit(JobId(1), 0, [](ObservedTask& task) { task.lost = true; });
           c.Settle();
         }
       },
       Seconds(30), "job 1 may start again after a failure"},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    Cluster c(Zones{}, Patient());
    row.reach(c);
    EXPECT_EQ(NextWake(c.state(), c.policy()) - c.now(), row.wake);
    EXPECT_EQ(InWords(NextDeadline(c.state(), c.policy())), row.words);
  }
}

TEST(NextWake, HeardNodesAreJudgedAfterAQuarterSilentOnesAtTheBound) {
  Cluster c(Zones{.nodes = 1});
  EXPECT_EQ(c.Wake() - c.now(), Seconds(15));
  EXPECT_EQ(InWords(NextDeadline(c.state(), c.policy())), "nodes that are not heard are judged");
  c.Silence(NodeId(1), true);
  EXPECT_EQ(c.Wake() - c.now(), Seconds(60));
  c.Advance(Seconds(60));
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kLost);
  EXPECT_FALSE(c.Wake()) << "nobody can be heard, nothing is due";
}

TEST(NextWake, DoesNotSpinInAnOutageNorForTasksOnSilentNodes) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Cancel(job);
  c.Silence(NodeId(1), true);
  c.Silence(NodeId(2), true);
  c.Advance(Hours(1));  // fails if a deadline that is due stays due
  EXPECT_TRUE(c.state().outage);
  EXPECT_FALSE(c.Wake());
}

TEST(TimePassed, BeforeADeadlineChangesNothing) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Suspend(job);
  const Tables before = c.state().tables();
  c.SetNow(c.now() + Seconds(9));
  c.Do(TimePassed{});
  EXPECT_EQ(*before.attempts.Find(c.attempt(job).id), c.attempt(job));
  EXPECT_EQ(*before.jobs.Find(job), c.job(job));
  EXPECT_EQ(c.last_drive().mutations, 0u);
}

TEST(TimePassed, LongAfterSeveralDeadlinesDoesAllThatIsDue) {
  Cluster c(Zones{}, Patient());
  const JobId job = c.Running(Spec(2));
  c.script(job).stuck = true;
  c.Suspend(job);
  c.policy().oversleep_max = Hours(2);  // late, and yet by choice
  c.SetNow(c.now() + Hours(1));
  c.Do(TimePassed{});
  EXPECT_EQ(c.attempt(job).stop, StopCause::kDeadline);
  EXPECT_EQ(c.attempt(job).stop_at, c.now()) << "the kill's own time counts from when it was ordered";
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kReady);
}

TEST(TimePassed, EndsBackoffsInTheirOrder) {
  Cluster c(Zones{.nodes = 4}, Patient());
  const JobId first = c.Running(SpecWith(1, [](JobSpec& s) { s.restart_backoff = Seconds(50); }));
  const JobId second = c.Running(SpecWith(1, [](JobSpec& s) { s.restart_backoff = Seconds(20); }));
  // The first restart after a fault of hardware has no pause, the second has.
  for (int fault = 0; fault < 2; ++fault) {
    for (const JobId job : {first, second}) c.Edit(job, 0, [](ObservedTask& task) { task.lost = true; });
    c.Settle();
  }
  c.Advance(Seconds(20));
  EXPECT_EQ(c.job(first).state, JobState::kQueued);
  EXPECT_EQ(c.job(second).state, JobState::kStarting);
  c.Advance(Seconds(30));
  EXPECT_EQ(c.job(first).state, JobState::kStarting);
}

TEST(LeaderStarted, NobodyIsUsedBeforeItIsHeardAndNobodyIsLostForTheTimeBefore) {
  Cluster c;
  const JobId job = c.Running(Spec(1));
  c.SetNow(c.now() + Hours(3));
  c.Do(LeaderStarted{});
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kSilent);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  const JobId waiting = c.Submit(Spec(1));
  EXPECT_EQ(c.job(waiting).state, JobState::kQueued);
  EXPECT_EQ(c.Wake() - c.now(), c.policy().node_lost_after);
  c.Return(NodeId(1));
  c.Return(NodeId(2));
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "its task is adopted again";
  EXPECT_EQ(c.job(job).attempts, 1u);
  EXPECT_EQ(c.job(waiting).state, JobState::kStarting);
}

TEST(LeaderStarted, ANodeThatStaysAwayIsLostFromThenOn) {
  Cluster c(Zones{.nodes = 6});
  c.SetNow(c.now() + Hours(3));
  c.Do(LeaderStarted{});
  for (std::uint32_t n = 1; n <= 5; ++n) c.Return(NodeId(n));
  c.Silence(NodeId(6));
  c.Advance(c.policy().node_lost_after - Milliseconds(1));
  EXPECT_EQ(c.node(NodeId(6)).state, NodeState::kSilent);
  c.Advance(Milliseconds(1));
  EXPECT_EQ(c.node(NodeId(6)).state, NodeState::kLost);
}

// The last leader committed a stop and went away before any agent heard of it.
TEST(LeaderStarted, AStopThatNobodyHeardGetsItsFullTime) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Cancel(job);
  c.SetNow(c.now() + Minutes(5));
  c.Do(LeaderStarted{});
  c.Return(NodeId(1));
  c.Return(NodeId(2));
  c.Advance(Seconds(1));
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kReady);
  EXPECT_EQ(c.node(NodeId(2)).state, NodeState::kReady);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kCancelled);
}

TEST(LeaderStarted, AStartThatNobodyHeardGetsItsFullTime) {
  Cluster c;
  const JobId job = c.Submit(Spec(2));
  c.SetNow(c.now() + Minutes(20));
  c.Do(LeaderStarted{});
  c.Return(NodeId(1));
  c.Return(NodeId(2));
  c.Advance(Milliseconds(1));
  EXPECT_EQ(c.attempt(job).stop, StopCause::kNone);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.job(job).start_failures, 0u);
}

TEST(Overslept, SilenceIsCountedFromTheAwakening) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Running(Spec(2));
  // The process was stopped for two minutes; the agents' reports wait somewhere on the way.
  c.SetNow(c.now() + Minutes(2));
  c.Do(TimePassed{});
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeLost), 0);
  // From here on silence counts again.
  c.SetNow(c.Wake());
  c.Do(TimePassed{});
  EXPECT_EQ(c.node(NodeId(1)).state, NodeState::kSilent);
}

TEST(Overslept, NobodyIsKilledForTheTimeInWhichNobodyListened) {
  Cluster c(Zones{.nodes = 2});
  const JobId job = c.Running(Spec(2));
  c.Suspend(job);
  c.SetNow(c.now() + Minutes(10));  // far beyond the grace
  c.Do(TimePassed{});
  EXPECT_EQ(c.attempt(job).stop, StopCause::kNone);
  EXPECT_GT(c.agreement(job).deadline, c.now());
}

}  // namespace
}  // namespace glim::core
