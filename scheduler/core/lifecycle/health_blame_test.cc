// How attempts end whose programs fail: by themselves, by hardware or by their memory, never mixed.
#include "scheduler/core/lifecycle/health_blame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/health_reports.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Patient;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

const NodeId kFirstNode{1};

// What the agent of the first node tells.
struct AgentTells {
  std::vector<HealthReading> events;
  std::vector<HealthCondition> conditions;
};

void TellIt(Cluster& c, const AgentTells& found) { testing::Tell(c, kFirstNode, found.events, found.conditions); }

AgentTells OfEvent(const std::string& check, std::int64_t code = 0) {
  return {{testing::Told(1, check, code, "mlx5_0/1")}, {}};
}
AgentTells OfCondition(const std::string& check) { return {{}, {testing::IsSo(check)}}; }

struct BlameCase {
  AgentTells found;
  Outcome outcome;
};

TEST(ARanksFailure, SoonAfterAFaultOfHardwareIsThatFaults) {
  const BlameCase kCases[] = {
      {OfEvent("link_flash"), Outcome::kNetwork},         {OfCondition("link_down"), Outcome::kNetwork},
      {OfEvent("link_errors"), Outcome::kFailed},         {OfEvent("xid", 31), Outcome::kFailed},
      {OfEvent("disk_error"), Outcome::kFailed},          {OfCondition("gpu_throttled"), Outcome::kFailed},
      {OfEvent("memory_ecc_corrected"), Outcome::kFailed}};
  for (const BlameCase& one : kCases) {
    Cluster c(Zones{.nodes = 4}, Patient());
    const JobId job = c.Running(Spec(2));
    SCOPED_TRACE(one.found.events.empty() ? one.found.conditions[0].check : one.found.events[0].check);
    TellIt(c, one.found);
    c.script(job).leaves = false;  // a disk's error drains the node: it does not leave for that
    c.script(job).acks = false;
    c.Advance(Seconds(20));
    c.Edit(job, 1, [](ObservedTask& task) {
      for (Rank& rank : task.ranks) {
        rank.exited = true;
        rank.exit_code = 1;
      }
    });
    c.Settle();
    EXPECT_STREQ(ToString(c.attempt(job, 1).outcome), ToString(one.outcome));
    EXPECT_EQ(c.job(job).state == JobState::kFailed, one.outcome == Outcome::kFailed);
    if (one.outcome == Outcome::kFailed) continue;
    EXPECT_THAT(c.attempt(job, 1).message, HasSubstr("on node n2 exited with code 1"));
    EXPECT_THAT(c.attempt(job, 1).message, HasSubstr("of mlx5_0/1: "));
    for (const NodeId node : c.attempt(job).nodes) EXPECT_NE(node, kFirstNode) << "it goes elsewhere";
  }
}

void ExitsWith(Cluster& c, JobId job, std::uint32_t index, std::int32_t code) {
  c.Edit(job, index, [code](ObservedTask& task) {
    for (Rank& rank : task.ranks) {
      rank.exited = true;
      rank.exit_code = code;
    }
  });
}

// The others of a gang notice within seconds that a node has gone; its silence says so a minute later.
TEST(ARanksFailure, WhileANodeOfItsGangIsSilentIsThatNodesWhenItIsLost) {
  Cluster c(Zones{.nodes = 4}, Patient());
  c.policy().node_lost_after = Minutes(1);
  const JobId job = c.Running(Spec(2));
  c.Silence(kFirstNode, true);
  c.Advance(Seconds(5));
  ExitsWith(c, job, 1, 1);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).state, AttemptState::kStopping) << "nobody knows yet what became of the other rank";
  c.Advance(c.policy().node_lost_after);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNodeFailure);
  EXPECT_THAT(c.attempt(job, 1).message, HasSubstr("on node n2 exited with code 1; its task was lost on node n1"));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  for (const NodeId node : c.attempt(job).nodes) EXPECT_NE(node, kFirstNode);
}

TEST(ARanksFailure, IsItsOwnWhenTheSilentNodeIsHeardAgain) {
  Cluster c(Zones{.nodes = 4}, Patient());
  c.policy().node_lost_after = Minutes(1);
  const JobId job = c.Running(Spec(2));
  c.Silence(kFirstNode, true);
  ExitsWith(c, job, 1, 1);
  c.Advance(Seconds(20));
  c.Return(kFirstNode);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kFailed);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
}

TEST(ARanksFailure, IsItsOwnWhereAnotherRankDoesNotGoAndItsNodeIsQuarantined) {
  Cluster c(Zones{.nodes = 4}, Patient());
  const JobId job = c.Running(Spec(2));
  c.script(job).stuck = true;
  ExitsWith(c, job, 1, 1);
  c.Advance(c.policy().kill_after_term + c.policy().release_max);
  ASSERT_EQ(c.node(kFirstNode).state, NodeState::kQuarantined);
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kFailed);
}

TEST(ARanksFailure, LongAfterAFlashIsItsOwn) {
  Cluster c(Zones{.nodes = 4}, Patient());
  const JobId job = c.Running(Spec(2));
  TellIt(c, OfEvent("link_flash"));
  c.Advance(c.policy().health.blame_window + Milliseconds(1));
  c.Exit(job, 1, 1);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kFailed);
}

TEST(ARanksFailure, WhileALinkIsDownIsTheLinksHoweverLong) {
  Cluster c(Zones{.nodes = 4}, Patient());
  const JobId job = c.Running(Spec(2));
  TellIt(c, OfCondition("link_down"));
  c.Advance(Hours(1));
  c.Exit(job, 1, 1);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNetwork);
}

TEST(ARanksFailure, SoonAfterALinkCameBackIsTheLinks) {
  Cluster c(Zones{.nodes = 4}, Patient());
  const JobId job = c.Running(Spec(2));
  TellIt(c, OfCondition("link_down"));
  TellIt(c, {});
  c.Advance(Minutes(3));
  c.Exit(job, 1, 1);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNetwork);
}

// A job that failed by a flash is on other nodes; one that came here later has nothing to do with it.
TEST(ARanksFailure, IsNotOfAFlashBeforeTheAttempt) {
  Cluster c(Zones{.nodes = 1}, Patient());
  TellIt(c, OfEvent("link_flash"));
  c.Advance(Milliseconds(1));
  const JobId job = c.Running(Spec(1));
  c.Exit(job, 0, 1);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kFailed);
}

// Its agent tells of the rank that failed before it has read the kernel's line.
TEST(ARanksFailure, ThatIsToldBeforeItsCauseIsTheCausesAllTheSame) {
  for (const auto& [found, outcome] :
       {BlameCase{OfEvent("xid", 79), Outcome::kGpuFailure}, BlameCase{OfEvent("xid", 74), Outcome::kGpuFailure},
        BlameCase{OfEvent("xid", 63), Outcome::kGpuFailure},
        BlameCase{OfEvent("memory_ecc_uncorrected"), Outcome::kNodeFailure},
        BlameCase{OfEvent("link_flash"), Outcome::kNetwork}}) {
    SCOPED_TRACE(found.events[0].check);
    Cluster c(Zones{.nodes = 4}, Patient());
    const JobId job = c.Running(Spec(2));
    c.Exit(job, 0, 1);
    ASSERT_EQ(c.attempt(job, 1).state, AttemptState::kStopping);
    ASSERT_EQ(c.attempt(job, 1).stop, StopCause::kRankFailed);
    c.Advance(Seconds(3));
    TellIt(c, found);
    c.Settle();
    EXPECT_STREQ(ToString(c.attempt(job, 1).outcome), ToString(outcome));
    EXPECT_EQ(c.job(job).state, JobState::kRunning);
  }
}

// One report has both.
TEST(ARanksFailure, ThatIsToldWithItsCauseIsTheCauses) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(Spec(1));
  testing::ScriptedAgent::Release(c.agent(kFirstNode).tasks.begin()->second, 1);
  TellIt(c, OfEvent("xid", 74));
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kGpuFailure);
}

void RunOutOfMemory(Cluster& c, JobId job) {
  c.Edit(job, 0, [](ObservedTask& task) {
    task.out_of_memory = true;
    testing::ScriptedAgent::Release(task, 137);
  });
  c.Settle();
}

TEST(OutOfMemory, FailsTheJobAndSaysHowToRaiseTheLimit) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(SpecWith(1, [](JobSpec& s) { s.limits.memory_bytes = std::int64_t{64} << 30; }));
  RunOutOfMemory(c, job);
  EXPECT_EQ(c.attempt(job).outcome, Outcome::kOutOfMemory);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_THAT(c.job(job).message, HasSubstr("its task met its limits.memory of 64GiB on node n1: submit it again with "
                                            "a higher limits.memory"));
  EXPECT_EQ(c.node(kFirstNode).suspect, 0u);
  EXPECT_EQ(c.attempt(job).exit_code, 137);
}

TEST(OutOfMemory, OfANodeIsSaidToBeThat) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(Spec(1));
  RunOutOfMemory(c, job);
  EXPECT_THAT(c.job(job).message, HasSubstr("its task took all the memory that tasks have on node n1"));
}

TEST(OutOfMemory, ComesAfterHardware) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(Spec(1));
  TellIt(c, OfEvent("link_flash"));
  RunOutOfMemory(c, job);
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNetwork);
}

}  // namespace
}  // namespace glim::core
