// A save is where the job comes back, or it is brought, or the job waits: it never starts without.
#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/testing/cluster_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

constexpr NodeId kN1{1}, kN2{2}, kN3{3};

// Nobody is killed by silence unless the test says so.
Policy Calm() {
  Policy policy = testing::Patient();
  policy.outage_percent = 100;
  return policy;
}

// A job of one node with a save of step 40 in the own folder of that node, n1; then it leaves for a more urgent one.
struct SavedOnN1 {
  explicit SavedOnN1(int nodes = 2, JobSpec spec = Spec(1)) : c(Zones{.nodes = nodes}, Calm()) {
    job = c.Submit(std::move(spec));
    c.script(job).own_folder = true;
    c.Settle();
    c.Advance(Minutes(1));
    c.Step(job, 40);
    c.Save(job, 40);
    urgent = c.Submit(
        SpecWith(static_cast<std::uint32_t>(nodes), [](JobSpec& s) { s.priority = PriorityClass::kHigh; }), "bob");
    c.Settle();
  }
  Cluster c;
  JobId job, urgent;
};

TEST(SavePlace, ASaveInANodesOwnFolderIsKnownByItsNode) {
  SavedOnN1 i;
  const Checkpoint& save = i.c.job(i.job).durable;
  EXPECT_EQ(i.c.attempt(i.job).outcome, Outcome::kInterrupted);
  EXPECT_FALSE(IsShared(save));
  EXPECT_THAT(save.parts, ElementsAre(kN1));
  EXPECT_THAT(HoldersOf(save), ElementsAre(kN1));
  EXPECT_EQ(ReachOf(i.c.state(), save).reach, Reach::kNow);
}

TEST(SavePlace, TheJobComesBackWhereItsSaveIs) {
  SavedOnN1 i(4);
  i.c.Finish(i.urgent);
  i.c.Settle();
  EXPECT_THAT(i.c.attempt(i.job).nodes, ElementsAre(kN1));
  EXPECT_GE(i.c.attempt(i.job).base.step, 40);
}

TEST(SavePlace, OrElsewhereWithACopy) {
  Cluster c(Zones{.nodes = 2}, Calm());
  const JobId job = c.Running(Spec(1));
  c.script(job).own_folder = true;
  c.Step(job, 40);
  c.Suspend(job);
  c.Settle();
  const JobId other = c.Submit(Spec(1), "eve");
  c.Settle();
  ASSERT_THAT(c.attempt(other).nodes, ElementsAre(kN1));
  c.Resume(job);
  c.Settle();
  ASSERT_THAT(c.attempt(job).nodes, ElementsAre(kN2));
  EXPECT_THAT(HoldersOf(c.job(job).durable), ElementsAre(kN1, kN2)) << "it was copied there";
}

TEST(SavePlace, ASilentNodeIsWaitedFor) {
  Cluster c(Zones{.nodes = 2}, Calm());
  const JobId job = c.Running(Spec(1));
  c.script(job).own_folder = true;
  c.Step(job, 40);
  c.Suspend(job);
  c.Settle();
  ASSERT_EQ(c.job(job).state, JobState::kHeld);
  c.Silence(kN1, true);
  c.Resume(job);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_EQ(c.job(job).waits_for_save, kN1);
  const Blocker blocker = SaveBlocker(c.state().tables(), c.job(job));
  EXPECT_EQ(blocker.kind, BlockerKind::kCheckpointOn);
  EXPECT_THAT(blocker.message, HasSubstr("lies on node n1, which is silent"));
  c.Return(kN1);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_GE(c.attempt(job).base.step, 40);
  EXPECT_EQ(c.job(job).steps_lost, 0);
}

TEST(SavePlace, ALostNodeWithTheOnlySaveCostsTheStepsAndTheJobSaysSo) {
  SavedOnN1 i(3);
  const std::int64_t saved = i.c.job(i.job).durable.step;
  i.c.Silence(kN1);
  i.c.Advance(i.c.policy().node_lost_after + Seconds(1));
  i.c.Settle();
  ASSERT_EQ(i.c.node(kN1).state, NodeState::kLost);
  i.c.Cancel(i.urgent, "bob");
  i.c.Settle();
  ASSERT_EQ(i.c.job(i.job).state, JobState::kRunning);
  EXPECT_EQ(i.c.attempt(i.job).base.step, -1);
  EXPECT_EQ(i.c.job(i.job).steps_lost, saved + 1);
  EXPECT_EQ(i.c.Noted(HistoryKind::kSaveGivenUp), 1);
  EXPECT_THAT(i.c.job(i.job).message, HasSubstr("lies on n1 alone, which is lost: it goes on from the beginning"));
}

TEST(SavePlace, UnlessItsSpecWaits) {
  SavedOnN1 i(3, SpecWith(1, [](JobSpec& s) { s.if_unreachable = IfUnreachable::kWait; }));
  i.c.Silence(kN1);
  i.c.Advance(i.c.policy().node_lost_after + Seconds(1));
  i.c.Settle();
  i.c.Cancel(i.urgent, "bob");
  i.c.Settle();
  EXPECT_EQ(i.c.job(i.job).state, JobState::kQueued);
  EXPECT_THAT(SaveBlocker(i.c.state().tables(), i.c.job(i.job)).message, HasSubstr("if_unreachable: wait"));
  i.c.Return(kN1);
  i.c.Settle();
  EXPECT_EQ(i.c.job(i.job).state, JobState::kRunning);
  EXPECT_EQ(i.c.job(i.job).steps_lost, 0);
}

// The job moved from n1 to n2 with a copy of its save, saved again there, and n2 is lost.
TEST(SavePlace, TheNewestSaveThatCanBeHadMayBeAnOlderOne) {
  Cluster c(Zones{.nodes = 3}, Calm());
  Job row = testing::JobRow(1);
  row.state = JobState::kRunning;
  Checkpoint first;
  first.step = 40;
  first.attempt = 1;
  first.local = "40";
  first.parts = {kN1};
  Checkpoint second = first;
  second.step = 70;
  second.parts = {kN2};
  NoteSave(row, first);
  NoteSave(row, second);
  ASSERT_EQ(row.older.size(), 1u);
  EXPECT_EQ(row.older[0].step, 40);
  // A newer one on the same node adds nothing.
  Checkpoint third = second;
  third.step = 90;
  NoteSave(row, third);
  ASSERT_EQ(row.older.size(), 1u);
  EXPECT_EQ(BaseOf(c.state(), row).step, 90);
  c.Silence(kN2);
  c.Advance(c.policy().node_lost_after + Seconds(1));
  EXPECT_EQ(BaseOf(c.state(), row).step, 40);
}

TEST(SavePlace, PartsOnSeveralNodesAreAllNeeded) {
  Cluster c(Zones{.nodes = 3}, Calm());
  Checkpoint save;
  save.step = 5;
  save.local = "5";
  save.parts = {kN1, kN2};
  EXPECT_THAT(HoldersOf(save), IsEmpty());
  EXPECT_EQ(ReachOf(c.state(), save).reach, Reach::kNow);
  c.Silence(kN2, true);
  EXPECT_EQ(ReachOf(c.state(), save).reach, Reach::kSilent);
  EXPECT_EQ(ReachOf(c.state(), save).node, kN2);
  save.copies = {kN3};
  EXPECT_EQ(ReachOf(c.state(), save).reach, Reach::kNow);
}

TEST(SavePlace, ASaveThatCannotBeHadIsThePlatformsFailureAndTriedAgain) {
  SavedOnN1 i(2);
  i.c.script(i.job).copies = false;
  i.c.Finish(i.urgent);
  for (int tries = 1; tries <= 6; ++tries) {
    i.c.Settle();
    ASSERT_EQ(i.c.job(i.job).state, JobState::kQueued) << tries;
    EXPECT_EQ(i.c.attempt(i.job).outcome, Outcome::kRestoreFailed);
    EXPECT_EQ(i.c.job(i.job).restore_failures, static_cast<std::uint32_t>(tries));
    EXPECT_EQ(i.c.job(i.job).not_before - i.c.now(), Milliseconds(i.c.policy().restore_backoff.ms << (tries - 1)));
    EXPECT_THAT(i.c.job(i.job).message, HasSubstr("its save cannot be copied"));
    i.c.Advance(i.c.job(i.job).not_before - i.c.now());
  }
  i.c.script(i.job).copies = true;
  i.c.Settle();
  i.c.Advance(Minutes(5));
  i.c.Settle();
  EXPECT_EQ(i.c.job(i.job).state, JobState::kRunning);
  EXPECT_EQ(i.c.job(i.job).steps_lost, 0);
  EXPECT_EQ(i.c.job(i.job).start_failures, 0u);
}

TEST(SavePlace, AProgramThatSaysThatItCannotReadBlamesNoNode) {
  SavedOnN1 i(2);
  i.c.Finish(i.urgent);
  for (int tries = 0; tries < 4; ++tries) {
    i.c.Settle();
    if (i.c.job(i.job).not_before) i.c.Advance(i.c.job(i.job).not_before - i.c.now());
    i.c.Settle();
    ASSERT_EQ(i.c.job(i.job).state, JobState::kRunning) << tries;
    i.c.Edit(i.job, 0, [](ObservedTask& task) {
      task.ranks[0].restore_failed = "bad checksum";
      task.ranks[0].exited = true;
      task.ranks[0].exit_code = 1;
    });
  }
  i.c.Settle();
  i.c.state().tables().nodes.ForEach([](NodeId, const Node& node) { EXPECT_EQ(node.suspect, 0u) << node.name; });
}

// The node's agent had seen the save in its own folder: that it has it no more is the node's affair.
TEST(SavePlace, ANodeWhoseDiskLostASaveIsSuspectedAndNobodyElse) {
  SavedOnN1 i(2);
  i.c.script(i.job).copies = false;
  i.c.Finish(i.urgent);
  for (int tries = 1; tries <= 25; ++tries) {
    i.c.Settle();
    ASSERT_EQ(i.c.job(i.job).state, JobState::kQueued) << "it is tried however often, beyond restart.max " << tries;
    i.c.Advance(i.c.job(i.job).not_before - i.c.now());
  }
  EXPECT_GT(i.c.node(kN1).suspect, 0u);
  EXPECT_THAT(i.c.node(kN1).suspect_why, HasSubstr("its last restore"));
  EXPECT_EQ(i.c.node(kN2).suspect, 0u) << "it never had it";
  EXPECT_EQ(i.c.job(i.job).durable.local.empty(), false) << "and the save is not given up";
}

TEST(SavePlace, AProgramThatCouldNotReadItsSaveIsNotBlamed) {
  SavedOnN1 i(2);
  i.c.Finish(i.urgent);
  i.c.Settle();
  ASSERT_EQ(i.c.job(i.job).state, JobState::kRunning);
  i.c.Edit(i.job, 0, [](ObservedTask& task) {
    task.ranks[0].restore_failed = "manifest.json: No such file or directory";
    task.ranks[0].exited = true;
    task.ranks[0].exit_code = 1;
  });
  i.c.Settle();
  EXPECT_EQ(i.c.attempt(i.job, 2).outcome, Outcome::kRestoreFailed);
  EXPECT_NE(i.c.job(i.job).state, JobState::kFailed);
}

TEST(SavePlace, ACopyThatGrowsHoldsUpTheStartsDeadline) {
  SavedOnN1 i(2);
  i.c.Silence(kN1, true);
  i.c.script(i.job).runs = false;
  i.c.Return(kN1);
  i.c.Finish(i.urgent);
  i.c.Settle();
  ASSERT_EQ(i.c.job(i.job).state, JobState::kStarting);
  for (int minute = 1; minute <= 20; ++minute) {
    i.c.Advance(Minutes(1));
    i.c.Edit(i.job, 0, [&](ObservedTask& task) { task.copied_bytes = minute * 1000; });
    ASSERT_EQ(i.c.job(i.job).state, JobState::kStarting) << minute;
  }
  i.c.Advance(i.c.policy().start_max + Seconds(1));
  i.c.Settle();
  EXPECT_EQ(i.c.attempt(i.job, 2).outcome, Outcome::kStartFailed);
}

TEST(AnImage, ThatComesHoldsUpTheStartsDeadlineAndIsNoNodesFault) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Submit(SpecWith(1, [](JobSpec& spec) { spec.image = "sqfs:/data/torch.sqsh"; }));
  c.script(job).runs = false;
  c.Settle();
  for (int minute = 1; minute <= 20; ++minute) {
    c.Advance(Minutes(1));
    c.Edit(job, 0, [&](ObservedTask& task) { task.image_bytes += 1000; });
    ASSERT_EQ(c.job(job).state, JobState::kStarting) << minute;
  }
  c.Advance(c.policy().start_max + Seconds(1));
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kStartFailed);
  EXPECT_EQ(c.node(NodeId(1)).suspect, 0u);
}

TEST(SavePlace, AProgramThatTrainedOnWithoutItsSaveFailsByItself) {
  SavedOnN1 i(2);
  i.c.Finish(i.urgent);
  i.c.Settle();
  i.c.Edit(i.job, 0, [](ObservedTask& task) { task.ranks[0].restore_failed = "caught by the script"; });
  i.c.Step(i.job, 90);
  i.c.Exit(i.job, 0, 3);
  EXPECT_EQ(i.c.job(i.job).state, JobState::kFailed);
  EXPECT_EQ(i.c.attempt(i.job).outcome, Outcome::kFailed);
}

TEST(SavePlace, AnAgentThatBeginsAnewInMidCopyHasFailedNobody) {
  SavedOnN1 i(2, SpecWith(1, [](JobSpec& s) { s.restart_max = 0; }));
  i.c.script(i.job).runs = false;
  i.c.Finish(i.urgent);
  i.c.Settle();
  ASSERT_EQ(i.c.job(i.job).state, JobState::kStarting);
  i.c.Edit(i.job, 0, [](ObservedTask& task) {
    task.phase = TaskPhase::kReleased;
    task.lost = true;
  });
  EXPECT_EQ(i.c.job(i.job).state, JobState::kQueued);
  EXPECT_EQ(i.c.attempt(i.job, 2).outcome, Outcome::kRestoreFailed);
  EXPECT_EQ(i.c.job(i.job).restarts, 0u);
}

TEST(SavePlace, AQuarantinedNodeGivesItsSavesWhileItsAgentIsHeard) {
  Cluster c(Zones{.nodes = 2}, Calm());
  Node node = c.node(kN1);
  node.state = NodeState::kQuarantined;
  ClusterState state = ClusterState::Of(c.state().tables());
  state.Put(node);
  Checkpoint save;
  save.step = 5;
  save.local = "5";
  save.parts = {kN1};
  EXPECT_EQ(ReachOf(state, save).reach, Reach::kSilent);
  state.liveness[kN1].session = 7;
  EXPECT_EQ(ReachOf(state, save).reach, Reach::kNow);
}

TEST(SavePlace, MemoryIsAskedThreeTimes) {
  Cluster c(Zones{.nodes = 0}, Calm());
  for (const char* name : {"a", "b"}) c.Connect(name, testing::Labels("z1", "l1"), std::string(name) + ":7010");
  const JobId id = c.Running(Spec(1));
  Job job = c.job(id);
  EXPECT_TRUE(MayBeInMemory(c.state(), job));
  job.restore_failures = kMemoryTriesMax;
  EXPECT_FALSE(MayBeInMemory(c.state(), job));
}

TEST(SavePlace, PeopleAreToldWhereSavesLie) {
  EXPECT_THAT(SavesInWords(Spec(1), ""), HasSubstr("stay on the node that wrote them"));
  EXPECT_THAT(SavesInWords(Spec(1), "/shared/glim"), HasSubstr("saves go to /shared/glim, which all nodes share"));
  EXPECT_THAT(SavesInWords(SpecWith(1, [](JobSpec& s) { s.checkpoint_dir = "/data/c"; }), "/shared/glim"),
              HasSubstr("checkpoint.dir, /data/c"));
  SavedOnN1 i;
  EXPECT_THAT(SavesInWords(i.c.state().tables(), i.c.job(i.job)), HasSubstr("is on n1"));
}

}  // namespace
}  // namespace glim::core
