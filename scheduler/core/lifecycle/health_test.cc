// What nodes' agents tell of their hardware, from the report to the job that goes on elsewhere and the node's state.
#include "scheduler/core/lifecycle/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/health_reports.h"

namespace glim::core {
namespace {

using ::testing::AllOf;
using testing::Cluster;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::Patient;
using testing::Spec;
using ::testing::StartsWith;
using testing::Zones;

using testing::Tell;
using testing::Told;

constexpr const char* kPort = "mlx5_0/1";
const NodeId kOne{1}, kTwo{2};

// --- Table V, a row each: what becomes of the attempt there, and of the node.
enum class NodeIs { kAsBefore, kSuspect, kDrained, kOut };

struct TableRow {
  std::int64_t xid;
  Outcome outcome;  // of the attempt; kNone: it runs on
  NodeIs node;
  const char* repair;
};

const TableRow kTableFive[] = {{13, Outcome::kNone, NodeIs::kAsBefore, ""},
                               {31, Outcome::kNone, NodeIs::kAsBefore, ""},
                               {43, Outcome::kNone, NodeIs::kAsBefore, ""},
                               {45, Outcome::kNone, NodeIs::kAsBefore, ""},
                               {74, Outcome::kGpuFailure, NodeIs::kSuspect, ""},
                               {63, Outcome::kGpuFailure, NodeIs::kDrained, "reset the GPU"},
                               {64, Outcome::kGpuFailure, NodeIs::kDrained, "reset the GPU"},
                               {94, Outcome::kGpuFailure, NodeIs::kDrained, "reset the GPU"},
                               {95, Outcome::kGpuFailure, NodeIs::kDrained, "reset the GPU"},
                               {44, Outcome::kGpuFailure, NodeIs::kOut, "reboot the node"},
                               {48, Outcome::kGpuFailure, NodeIs::kOut, "reboot the node"},
                               {61, Outcome::kGpuFailure, NodeIs::kOut, "reboot the node"},
                               {62, Outcome::kGpuFailure, NodeIs::kOut, "reboot the node"},
                               {69, Outcome::kGpuFailure, NodeIs::kOut, "reboot the node"},
                               {79, Outcome::kGpuFailure, NodeIs::kOut, "reboot the node"},
                               {119, Outcome::kGpuFailure, NodeIs::kOut, "field diagnosis"},
                               {8, Outcome::kNone, NodeIs::kAsBefore, ""}};

void ExpectNode(const Cluster& c, const TableRow& row) {
  const Node& node = c.node(kOne);
  EXPECT_EQ(node.suspect > 0, row.node == NodeIs::kSuspect);
  EXPECT_EQ(node.cordon.has_value(), row.node == NodeIs::kDrained || row.node == NodeIs::kOut);
  if (!node.cordon) return;
  EXPECT_EQ(node.cordon->by, "health");
  EXPECT_EQ(node.cordon->drain, row.node == NodeIs::kDrained);
  EXPECT_THAT(node.cordon->reason,
              AllOf(StartsWith("xid " + std::to_string(row.xid) + " of 0000:3b:00.0: line 1; " + row.repair),
                    EndsWith(", then: glim admin node uncordon n1")));
}

TEST(TableFive, EachXidFromTheReportToTheJobThatGoesOnElsewhere) {
  for (const TableRow& row : kTableFive) {
    SCOPED_TRACE(row.xid);
    Cluster c(Zones{.nodes = 4}, Patient());
    const JobId job = c.Running(Spec(2));
    ASSERT_EQ(c.attempt(job).nodes, (std::vector{kOne, kTwo}));
    c.Save(job, 30);
    c.Step(job, 33);
    Tell(c, kOne, {Told(1, "xid", row.xid)});
    c.Settle();
    EXPECT_EQ(c.job(job).state, JobState::kRunning) << "at once: the first restart has no pause";
    EXPECT_EQ(c.attempt(job, 1).outcome, row.outcome);
    ExpectNode(c, row);
    ASSERT_EQ(c.node(kOne).health_events.size(), 1u);
    EXPECT_EQ(c.node(kOne).health_events[0].job, job);
    EXPECT_EQ(c.node(kOne).health_events[0].user, "ann");
    EXPECT_EQ(c.Noted(HistoryKind::kHealthEvent), 1);
    if (row.outcome == Outcome::kNone) continue;
    EXPECT_THAT(c.attempt(job, 1).message, HasSubstr("node n1: xid " + std::to_string(row.xid) + " of 0000:3b:00.0"));
    EXPECT_EQ(c.attempt(job, 1).steps_lost, 3);
    EXPECT_EQ(c.attempt(job).base.step, 30);
    for (const NodeId node : c.attempt(job).nodes) EXPECT_NE(node, kOne);
  }
}

// --- Out.
TEST(ANodeThatIsOut, IsNotWaitedForAndTheGangsOtherNodesAre) {
  Cluster c(Zones{.nodes = 4}, Patient());
  const JobId job = c.Running(Spec(2));
  Tell(c, kOne, {Told(1, "xid", 79)});
  EXPECT_EQ(c.attempt(job, 1).state, AttemptState::kStopping);
  EXPECT_EQ(c.attempt(job, 1).stop, StopCause::kGpuFailure);
  EXPECT_FALSE(c.node(kOne).holder) << "its task hangs for ever, for all that anybody knows";
  EXPECT_EQ(c.node(kOne).stale_tasks.size(), 1u);
  EXPECT_TRUE(c.node(kTwo).holder) << "this one is released as always";
  EXPECT_EQ(c.job(job).attempts, 1u);
  c.Exit(job, 1, 137);
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kGpuFailure);
  EXPECT_EQ(c.job(job).attempts, 2u) << "it starts elsewhere in the same pass";
  // The task goes at last: the node stays out until somebody gives it back.
  c.Settle();
  EXPECT_TRUE(c.node(kOne).stale_tasks.empty());
  EXPECT_FALSE(IsUsable(c.node(kOne)));
  ASSERT_TRUE(c.Do(UncordonNode{"n1", "op"}).status.ok());
  EXPECT_TRUE(IsSound(c.node(kOne)));
}

TEST(ANodeThatIsOut, IsNoLongerClaimed) {
  Cluster c(Zones{.nodes = 2}, Patient());
  c.Running(Spec(2));
  const JobId high = c.Submit(Spec(1, PriorityClass::kHigh), "bob");
  const NodeId claimed = c.attempt(high).nodes[0];
  Tell(c, claimed, {Told(1, "xid", 79)});
  EXPECT_FALSE(c.node(claimed).claim);
  EXPECT_EQ(c.attempt(high, 1).outcome, Outcome::kClaimDropped);
}

TEST(ANodeThatIsOut, MayHaveHadNobody) {
  Cluster c(Zones{.nodes = 2}, Patient());
  Tell(c, kOne, {Told(1, "memory_ecc_uncorrected", 0, "mc0/dimm1"), Told(2, "xid", 79)});
  EXPECT_TRUE(c.node(kOne).cordon);
  EXPECT_FALSE(c.node(kOne).health_events[0].job);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeCordoned), 1) << "it is out already";
  EXPECT_EQ(c.attempt(c.Submit(Spec(1))).nodes, std::vector{kTwo});
}

TEST(ANodeThatIsOut, ByItsMemoryIsANodeFailure) {
  for (const char* check : {"memory_ecc_uncorrected", "machine_check"}) {
    Cluster c(Zones{.nodes = 2}, Patient());
    const JobId job = c.Running(Spec(1));
    Tell(c, kOne, {Told(1, check)});
    c.Settle();
    EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNodeFailure) << check;
    EXPECT_EQ(c.job(job).state, JobState::kRunning);
  }
}

// A cancel, or an interrupt that is under way, stays what it is.
TEST(ANodeThatIsOut, EndsWhatIsEndingAnyway) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const JobId job = c.Running(Spec(1));
  c.Cancel(job);
  Tell(c, kOne, {Told(1, "xid", 79)});
  EXPECT_EQ(c.job(job).state, JobState::kCancelled);
}

TEST(AnOperatorsCordon, StaysInTheOperatorsWordsAndEndsByNoClock) {
  Cluster c(Zones{.nodes = 2}, Patient());
  c.Do(CordonNode{"n1", "kim", "a new fan", Hours(1)});
  Tell(c, kOne, {Told(1, "xid", 79)});
  EXPECT_EQ(c.node(kOne).cordon->by, "kim");
  EXPECT_THAT(c.node(kOne).cordon->reason, HasSubstr("a new fan; it does not end by itself any more: xid 79"));
  c.Advance(Hours(2));
  EXPECT_TRUE(c.node(kOne).cordon);
}

TEST(AnOperatorsCordon, BecomesADrainByAFindingThatDrains) {
  for (const char* check : {"disk_failing", "disk_read_only", "disk_error"}) {
    SCOPED_TRACE(check);
    Cluster c(Zones{.nodes = 2}, Patient());
    const JobId job = c.Running(Spec(1));
    c.Save(job, 30);
    ASSERT_TRUE(c.Do(CordonNode{"n1", "kim", "a new fan tomorrow"}).status.ok());
    const bool is_event = std::string(check) == "disk_error";
    is_event ? Tell(c, kOne, {Told(1, check, 0, "sda")}) : Tell(c, kOne, {}, {testing::IsSo(check, "sda")});
    const Cordon& cordon = *c.node(kOne).cordon;
    EXPECT_EQ(cordon.by, "kim");
    EXPECT_THAT(cordon.reason, StartsWith("a new fan tomorrow; it is drained: " + std::string(check)));
    EXPECT_TRUE(cordon.drain);
    EXPECT_EQ(c.Noted(HistoryKind::kNodeCordoned), 2);
    c.Settle();
    EXPECT_EQ(c.attempt(job, 1).save, SaveResult::kSaved) << "it was asked to leave";
    EXPECT_EQ(c.attempt(job).nodes, std::vector{kTwo});
    EXPECT_TRUE(c.node(kOne).cordon->drained);
  }
}

// --- Once.
TEST(AHealthEvent, ActsOnceHoweverOftenAndByWhomeverItIsTold) {
  Cluster c(Zones{.nodes = 2}, Patient());
  const std::vector<HealthReading> told = {Told(1, "xid", 13), Told(2, "xid", 79)};
  Tell(c, kOne, told);
  ASSERT_TRUE(c.Do(UncordonNode{"n1", "op"}).status.ok());
  const auto expect_back = [&](const char* when) {
    Tell(c, kOne, told);
    EXPECT_TRUE(IsSound(c.node(kOne))) << when;
    EXPECT_EQ(c.Noted(HistoryKind::kHealthEvent), 2) << when;
  };
  expect_back("told again");
  c.Silence(kOne, true);
  c.Return(kOne);
  expect_back("by a new agent");
  c.RestartScheduler();
  c.Return(kOne);
  expect_back("to a new scheduler");
  Tell(c, kOne, {Told(1, "xid", 13), Told(2, "xid", 79), Told(3, "xid", 48)});
  EXPECT_FALSE(IsUsable(c.node(kOne))) << "a new one takes it out again";
  EXPECT_EQ(c.Noted(HistoryKind::kHealthEvent), 3);
}

TEST(AHealthEvent, IsNumberedAnewAfterAReboot) {
  Cluster c(Zones{.nodes = 1}, Patient());
  Tell(c, kOne, {Told(7, "xid", 8)});
  Tell(c, kOne, {Told(1, "xid", 79)});
  EXPECT_TRUE(IsUsable(c.node(kOne))) << "older than what was taken in";
  Tell(c, kOne, {Told(1, "xid", 79)}, {}, "boot-2");
  EXPECT_FALSE(IsUsable(c.node(kOne)));
  EXPECT_EQ(c.node(kOne).health_boot, "boot-2");
  EXPECT_EQ(c.node(kOne).health_seq, 1u);
}

TEST(AHealthEvent, OfALinkIsCountedForAWeek) {
  Cluster c(Zones{.nodes = 2}, Patient());
  c.policy().health.validate.after_repair = false;
  for (std::uint64_t seq = 1; seq <= 2; ++seq) {
    Tell(c, kOne, {Told(seq, "link_flash", 0, kPort)});
    c.Advance(Hours(48));
  }
  EXPECT_FALSE(c.node(kOne).cordon);
  Tell(c, kOne, {Told(3, "link_flash", 0, "mlx5_1/1")});
  EXPECT_FALSE(c.node(kOne).cordon) << "another port";
  Tell(c, kOne, {Told(4, "link_flash", 0, kPort)});
  ASSERT_TRUE(c.node(kOne).cordon);
  EXPECT_TRUE(c.node(kOne).cordon->drain);
  c.Do(UncordonNode{"n1", "op"});
  c.Advance(Hours(1));
  Tell(c, kOne, {Told(5, "link_flash", 0, kPort)});
  EXPECT_FALSE(c.node(kOne).cordon) << "it was repaired: the count begins anew";
}

TEST(AHealthEvent, OfThreeUsersProgramsOnOneGpuDrainsTheNode) {
  Cluster c(Zones{.nodes = 1}, Patient());
  std::uint64_t seq = 0;
  for (const char* user : {"ann", "bob", "ann", "cho"}) {
    EXPECT_FALSE(c.node(kOne).cordon) << user;
    const JobId job = c.Running(Spec(1), user);
    Tell(c, kOne, {Told(++seq, "xid", 31)});
    c.Exit(job, 0, 1);
    c.Settle();
    EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kFailed) << "the program's own";
    c.Advance(Hours(1));
  }
  ASSERT_TRUE(c.node(kOne).cordon);
  EXPECT_THAT(c.node(kOne).cordon->reason, HasSubstr("validate the GPU"));
}

// --- Floods.
TEST(AFloodOfHealthEvents, OfOneKindIsOneNoteAMinute) {
  Cluster c(Zones{.nodes = 1}, Patient());
  std::uint64_t seq = 0;
  const auto flood = [&](int reports) {
    for (int i = 0; i < reports; ++i) {
      std::vector<HealthReading> events;
      for (int k = 0; k < 50; ++k) events.push_back(Told(++seq, "memory_ecc_corrected", 0, "mc0/dimm0"));
      Tell(c, kOne, events);
    }
  };
  flood(200);
  EXPECT_EQ(c.Noted(HistoryKind::kHealthEvent), 1) << "of 10,000";
  ASSERT_EQ(c.node(kOne).health_events.size(), 1u);
  EXPECT_EQ(c.node(kOne).health_events[0].more, 9'999u);
  c.Advance(Minutes(1));
  flood(1);
  EXPECT_EQ(c.Noted(HistoryKind::kHealthEvent), 2);
  EXPECT_EQ(c.node(kOne).health_events.size(), 2u);
}

TEST(AFloodOfHealthEvents, OfManyKindsIsNoMoreThanIsKept) {
  Cluster c(Zones{.nodes = 1}, Patient());
  for (std::uint64_t seq = 1; seq <= 2000; ++seq)
    Tell(c, kOne, {Told(seq, "xid", static_cast<std::int64_t>(1000 + seq))});
  EXPECT_EQ(c.Noted(HistoryKind::kHealthEvent), static_cast<std::int64_t>(kHealthEventsKept));
  EXPECT_EQ(c.node(kOne).health_events.size(), kHealthEventsKept);
  Tell(c, kOne, {Told(2001, "xid", 79)});
  EXPECT_TRUE(c.node(kOne).cordon) << "what counts is seen among them";
  EXPECT_EQ(c.node(kOne).health_events.back().code, 79);
}

TEST(AFloodOfHealthEvents, PushesOutItsOwnKindAlone) {
  Cluster c(Zones{.nodes = 1}, Patient());
  Tell(c, kOne, {Told(1, "link_flash", 0, kPort)});
  for (std::uint64_t seq = 2; seq < 60; ++seq) {
    c.Advance(Minutes(2));
    Tell(c, kOne, {Told(seq, "xid", 8)});
  }
  EXPECT_EQ(c.node(kOne).health_events.size(), kHealthEventsKept);
  EXPECT_EQ(c.node(kOne).health_events.front().check, "link_flash");
}

// A cable that flashes every second day is found, however many programs fail on the node in between.
TEST(AFloodOfHealthEvents, OfOneCheckPushesOutNoOtherCheck) {
  Cluster c(Zones{.nodes = 1}, Patient());
  Tell(c, kOne, {Told(1, "link_flash", 0, kPort)});
  for (std::uint64_t seq = 2; seq < 60; ++seq) {
    c.Advance(Minutes(2));
    Tell(c, kOne, {Told(seq, "xid", static_cast<std::int64_t>(1000 + seq))});
  }
  EXPECT_EQ(c.node(kOne).health_events.front().check, "link_flash");
  EXPECT_EQ(c.node(kOne).health_events.back().code, 1059);
}

TEST(ThePolicysRows, DecideInPlaceOfTheDefaultOnes) {
  Cluster c(Zones{.nodes = 2}, Patient());
  c.policy().health.rules = {{.check = "xid", .codes = {79}},
                             {.check = "link_errors", .verdict = HealthVerdict::kCordoned},
                             {.check = "xid", .codes = {13}, .verdict = HealthVerdict::kRestarted}};
  const JobId job = c.Running(Spec(1));
  Tell(c, kOne, {Told(1, "xid", 79)});
  EXPECT_FALSE(c.node(kOne).cordon);
  Tell(c, kOne, {Told(1, "xid", 79), Told(2, "link_errors", 0, kPort)});
  ASSERT_TRUE(c.node(kOne).cordon);
  EXPECT_FALSE(c.node(kOne).cordon->drain);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  Tell(c, kOne, {Told(3, "xid", 13)});
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNodeFailure) << "the row names no other";
}

}  // namespace
}  // namespace glim::core
