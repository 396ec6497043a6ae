// No clock runs against a job while a node of it is not heard: docs/protocols/clocks.md.
#include "scheduler/core/lifecycle/heard.h"

#include <gtest/gtest.h>

#include "scheduler/core/lifecycle/timers.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::ScriptedAgent;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

constexpr Duration kGrace = Seconds(30);

// A job on nodes 1 and 2 of six, at step 100 and saved at 90; it has 30 s to leave.
struct Gang {
  explicit Gang(Duration grace = kGrace, Zones zones = {.nodes = 6}) : c(zones) {
    job = c.Running(SpecWith(2, [&](JobSpec& s) { s.grace = grace; }));
    c.Save(job, 90);
    c.Step(job, 100);
  }
  const Agreement& agreement() const { return c.agreement(job); }
  void ExpectSavedWithoutLoss() {
    c.Settle();
    EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kInterrupted);
    EXPECT_EQ(c.attempt(job, 1).save, SaveResult::kSaved);
    EXPECT_EQ(c.attempt(job, 1).steps_lost, 0);
  }
  Cluster c;
  JobId job;
  const NodeId n1{1}, n2{2};
};

TEST(AnInterrupt, ThatAnAgentHearsLateHasItsTimeFromThenOn) {
  Gang g;
  g.c.Silence(g.n1, true);
  g.c.Suspend(g.job);
  g.c.Advance(Seconds(50));
  EXPECT_EQ(g.c.attempt(g.job).stop, StopCause::kNone);
  EXPECT_EQ(g.agreement().state, AgreementState::kNotifying);
  g.c.Return(g.n1);
  EXPECT_EQ(g.agreement().deadline, g.c.now() + kGrace);
  EXPECT_EQ(g.agreement().agree_by, g.c.now() + kGrace / 4);
  g.ExpectSavedWithoutLoss();
}

// A refused agent knocks, which is a sign of life. The order was not told to it.
TEST(AnInterrupt, OfANodeWhoseAgentIsRefusedHasItsTimeFromWhenThatIsLetIn) {
  Gang g;
  g.c.Silence(g.n1, true);
  g.c.Suspend(g.job);
  for (int knock = 0; knock < 5; ++knock) {
    g.c.Advance(Seconds(10));
    g.c.Do(NodeRefused{"n1", g.c.node(g.n1).machine_id, "its agent speaks version 1"});
  }
  ASSERT_EQ(g.c.node(g.n1).state, NodeState::kRefused);
  g.c.Return(g.n1);
  EXPECT_EQ(g.agreement().deadline, g.c.now() + kGrace);
  g.ExpectSavedWithoutLoss();
}

TEST(AnInterrupt, WhoseStepAnAgentHearsLateGoesOnFromThere) {
  Gang g;
  g.c.Suspend(g.job);
  g.c.Ack(g.job, 0, 101);
  g.c.Silence(g.n1, true);
  g.c.Silence(g.n2, true);
  g.c.Do(NodeReported{});  // of nobody
  ASSERT_EQ(g.agreement().state, AgreementState::kNotifying);
  g.c.Return(g.n1);
  g.c.Return(g.n2);
  g.c.Ack(g.job, 1, 101);
  ASSERT_EQ(g.agreement().state, AgreementState::kAgreed);
  for (const NodeId node : {g.n1, g.n2}) g.c.Silence(node, true);
  g.c.Advance(Minutes(2));
  EXPECT_EQ(g.c.attempt(g.job).stop, StopCause::kNone) << "the ranks wait at their hold for the step";
  for (const NodeId node : {g.n1, g.n2}) g.c.Return(node);
  EXPECT_EQ(g.agreement().deadline, g.c.now() + kGrace);
  g.ExpectSavedWithoutLoss();
}

TEST(AnInterrupt, OutlivesAnOutage) {
  Gang g;
  g.c.Suspend(g.job);
  g.c.Ack(g.job, 0, 101);
  for (std::uint32_t n = 1; n <= 6; ++n) g.c.Silence(NodeId(n));
  g.c.Advance(Minutes(5));
  ASSERT_TRUE(g.c.state().outage);
  for (std::uint32_t n = 6; n >= 1; --n) {
    g.c.Return(NodeId(n));
    g.c.Advance(Seconds(1));
    EXPECT_EQ(g.c.attempt(g.job).stop, StopCause::kNone) << n;
  }
  g.ExpectSavedWithoutLoss();
}

// Nobody has seen a stream end: the machine slept, or the cut was short.
TEST(AnInterrupt, DoesNotCountTheTimeOfACutThatItsStreamOutlived) {
  Gang g(Seconds(8));
  const std::uint64_t session = g.c.session(g.n1);
  g.c.Silence(g.n1);
  g.c.Suspend(g.job);
  g.c.Advance(Seconds(12));
  EXPECT_EQ(g.c.attempt(g.job).stop, StopCause::kNone) << "a report of node 1 is overdue";
  g.c.Do(NodeReported{g.n1, session, true, g.c.agent(g.n1).Observed()});
  EXPECT_EQ(g.c.attempt(g.job).stop, StopCause::kNone);
  EXPECT_EQ(g.agreement().deadline, g.c.now() + Seconds(8));
}

TEST(AnInterrupt, OfAMachineThatSleptGoesOnWhereItWas) {
  Gang g;
  const std::uint64_t session = g.c.session(g.n1);
  g.c.Suspend(g.job);
  g.c.Advance(Seconds(10));
  const Duration left = g.agreement().deadline - g.c.now();
  ASSERT_EQ(left, Seconds(20));
  g.c.Silence(g.n1);
  g.c.Advance(Seconds(45));
  g.c.Do(NodeReported{g.n1, session, true, g.c.agent(g.n1).Observed()});
  EXPECT_EQ(g.c.attempt(g.job).stop, StopCause::kNone);
  EXPECT_EQ(g.agreement().deadline, g.c.now() + left - ReportEvery(g.c.policy()))
      << "it may have been awake for as long as an agent says nothing";
}

// All have acknowledged, and the last of them is heard late: the step is agreed while another one is away.
TEST(AnInterrupt, WhoseStepIsAgreedWhileANodeIsAwayCountsThatCutFromItsBeginning) {
  Gang g;
  g.c.Silence(g.n1, true);
  g.c.Suspend(g.job);
  g.c.Ack(g.job, 1, 101);
  g.c.Advance(Seconds(20));
  g.c.Silence(g.n2, true);
  g.c.Advance(Seconds(60));
  g.c.Return(g.n1);
  g.c.Ack(g.job, 0, 101);
  ASSERT_EQ(g.agreement().state, AgreementState::kAgreed);
  g.c.Advance(Seconds(10));
  g.c.Return(g.n2);
  EXPECT_GE(g.agreement().deadline, g.c.now() + kGrace - ReportEvery(g.c.policy()));
  g.ExpectSavedWithoutLoss();
}

TEST(AnInterrupt, CountsOverlappingCutsOnce) {
  Gang g;
  g.c.Suspend(g.job);
  g.c.Advance(Seconds(10));
  const TimePoint deadline = g.agreement().deadline;
  g.c.Silence(g.n1, true);
  g.c.Silence(g.n2, true);
  g.c.Advance(Seconds(40));
  g.c.Return(g.n2);
  EXPECT_EQ(g.agreement().deadline, deadline) << "node 1 is still away";
  g.c.Return(g.n1);
  EXPECT_EQ(g.agreement().deadline, deadline + Seconds(40) - ReportEvery(g.c.policy()));
}

// Nobody is told anything there any more, so nobody waits for it.
TEST(AnInterrupt, DoesNotWaitForANodeThatTheJobHasLeft) {
  Gang g;
  g.c.Suspend(g.job);
  g.c.Advance(Seconds(10));
  g.c.Edit(g.job, 0, [](ObservedTask& task) { task.phase = TaskPhase::kReleased; });
  ASSERT_FALSE(g.c.node(g.n1).holder);
  const TimePoint deadline = g.agreement().deadline;
  g.c.Silence(g.n1, true);
  g.c.Silence(g.n2, true);
  g.c.Advance(Seconds(40));
  g.c.Return(g.n2);
  EXPECT_EQ(g.agreement().deadline, deadline + Seconds(40) - ReportEvery(g.c.policy())) << "it was away, too";
  g.c.Advance(g.agreement().deadline - g.c.now());
  EXPECT_EQ(g.c.attempt(g.job).stop, StopCause::kDeadline) << "though node 1 is away still";
}

TEST(AnInterrupt, EndsThoughAnAgentComesAndGoes) {
  Gang g;
  g.c.script(g.job).leaves = g.c.script(g.job).acks = false;
  g.c.Suspend(g.job);
  for (int i = 0; i < 60 && g.c.attempt(g.job).stop == StopCause::kNone; ++i) {
    g.c.Advance(Seconds(1));
    for (const NodeId node : {g.n1, g.n2}) g.c.Silence(node, true);
    g.c.Advance(Seconds(1));
    for (const NodeId node : {g.n1, g.n2}) g.c.Return(node);
  }
  EXPECT_EQ(g.c.attempt(g.job).stop, StopCause::kDeadline);
  EXPECT_LE(g.c.now() - g.agreement().requested_at, Minutes(2));
}

TEST(AnInterrupt, HasItsFullTimeWhenItsAgentsFindTheNextLeader) {
  Gang g;
  g.c.Suspend(g.job);
  g.c.RestartScheduler();
  g.c.Advance(Seconds(50));
  for (const NodeId node : {g.n1, g.n2}) g.c.Return(node);
  EXPECT_EQ(g.agreement().deadline, g.c.now() + kGrace);
  g.ExpectSavedWithoutLoss();
}

TEST(AnInterrupt, WithoutGraceWaitsForNobody) {
  Gang g({}, {.nodes = 6});
  g.c.Silence(g.n1, true);
  g.c.Suspend(g.job);
  EXPECT_EQ(g.c.attempt(g.job).stop, StopCause::kDeadline);
}

TEST(AnInterrupt, IsJudgedOnANodeThatWasTakenOutToo) {
  Gang g;
  g.c.script(g.job).leaves = g.c.script(g.job).acks = false;
  NodeReported report{g.n1, g.c.session(g.n1), true, g.c.agent(g.n1).Observed()};
  report.site_fault = "the epilog failed";
  g.c.Do(report);
  ASSERT_EQ(g.c.node(g.n1).state, NodeState::kQuarantined);
  g.c.Suspend(g.job);
  for (int i = 0; i < 7; ++i) {
    g.c.Advance(Seconds(5));
    g.c.Do(report);
  }
  EXPECT_EQ(g.c.attempt(g.job).stop, StopCause::kDeadline);
}

TEST(ADrainsDeadline, IsNotJudgedWhileANodeOfTheJobIsAway) {
  Gang g;
  g.c.Silence(g.n1, true);
  g.c.Do(CordonNode{"n2", "op", "a new fan", {}, true, Seconds(20)});
  g.c.Advance(Seconds(50));
  EXPECT_EQ(g.c.attempt(g.job).stop, StopCause::kNone);
  g.c.Return(g.n1);
  EXPECT_EQ(g.agreement().deadline, g.c.now() + Seconds(20));
  EXPECT_EQ(g.c.node(g.n2).cordon->deadline, g.c.now() + Seconds(20)) << "and operators see it";
  g.ExpectSavedWithoutLoss();
}

// --- starts

struct Start {
  explicit Start(std::uint32_t nodes = 2) : c({.nodes = 2}) {
    job = c.Submit(Spec(nodes));
    c.script(job).runs = false;
  }
  void Away(Duration away) {
    for (const NodeId node : c.attempt(job).nodes) c.Silence(node, true);
    c.Advance(away);
  }
  void Back() {
    for (const NodeId node : c.attempt(job).nodes) {
      c.Return(node);
      c.Do(TimePassed{});
    }
  }
  Cluster c;
  JobId job;
};

TEST(AStart, ThatWasNotSeenIsNoFailure) {
  Start s;
  s.c.Settle();
  s.Away(Hours(2));
  EXPECT_EQ(s.c.attempt(s.job).stop, StopCause::kNone);
  for (const NodeId node : s.c.attempt(s.job).nodes) {
    for (auto& [id, task] : s.c.agent(node).tasks) task.phase = TaskPhase::kRunning;
  }
  s.Back();
  EXPECT_EQ(s.c.job(s.job).state, JobState::kRunning);
  EXPECT_EQ(s.c.job(s.job).start_failures, 0u);
  EXPECT_EQ(s.c.node(NodeId(1)).suspect_until, TimePoint{});
}

TEST(AStart, ThatNobodyHeardOfHasItsFullTime) {
  Start s(1);
  s.Away(Seconds(50));
  s.Back();
  s.c.Settle();
  s.c.Advance(s.c.policy().start_max - Milliseconds(1));
  EXPECT_EQ(s.c.attempt(s.job, 1).stop, StopCause::kNone);
  s.c.Advance(Milliseconds(1));
  EXPECT_EQ(s.c.attempt(s.job, 1).stop, StopCause::kStartTimeout);
}

TEST(AStart, ThatHangsIsFoundThoughItsAgentComesAndGoes) {
  Start s(1);
  s.c.Settle();
  for (int i = 0; i < 100 && s.c.attempt(s.job, 1).stop == StopCause::kNone; ++i) {
    s.c.Advance(Seconds(4));
    s.Away(Seconds(2));
    s.Back();
  }
  EXPECT_EQ(s.c.attempt(s.job, 1).stop, StopCause::kStartTimeout);
}

TEST(AStart, IsForgottenWhenItRuns) {
  Start s(1);
  s.c.Settle();
  s.Away(Seconds(50));
  s.Back();
  s.c.Edit(s.job, 0, [](ObservedTask& task) { task.phase = TaskPhase::kRunning; });
  ASSERT_EQ(s.c.job(s.job).state, JobState::kRunning);
  s.c.Finish(s.job);
  EXPECT_TRUE(s.c.state().watch.attempts.empty());
}

// --- stops

struct Stuck {
  Stuck() : c({.nodes = 4}) {
    job = c.Running(Spec(1));
    node = c.attempt(job).nodes[0];
    c.script(job).stuck = true;
  }
  Cluster c;
  JobId job;
  NodeId node;
};

TEST(AStop, ThatAnAgentHearsLateHasItsTimeFromThenOn) {
  Stuck s;
  s.c.Silence(s.node, true);
  s.c.Cancel(s.job);
  s.c.Advance(Seconds(50));
  s.c.Return(s.node);
  s.c.Advance(Seconds(59));
  EXPECT_EQ(s.c.node(s.node).state, NodeState::kReady);
  s.c.Advance(Seconds(6));
  EXPECT_EQ(s.c.node(s.node).state, NodeState::kQuarantined);
}

TEST(AStop, IsJudgedThoughItsAgentComesAndGoes) {
  for (const auto& [here, away] : {std::pair(Seconds(40), Seconds(1)), std::pair(Seconds(1), Seconds(1)),
                                   std::pair(Seconds(1), Seconds(16)), std::pair(Seconds(20), Seconds(20))}) {
    Stuck s;
    s.c.Cancel(s.job);
    s.c.Settle();
    const TimePoint stopped = s.c.now();
    while (s.c.node(s.node).state != NodeState::kQuarantined && s.c.now() - stopped < Hours(1)) {
      s.c.Advance(here);
      s.c.Silence(s.node, true);
      s.c.Advance(away);
      s.c.Return(s.node);
    }
    EXPECT_LE(s.c.now() - stopped, Minutes(6)) << here.ms << " " << away.ms;
    EXPECT_EQ(s.c.job(s.job).state, JobState::kCancelled);
  }
}

TEST(AReport, IsDueOftenEnoughToBeMissedInTime) {
  Policy policy;
  EXPECT_EQ(ReportEvery(policy), Seconds(5));
  policy.node_lost_after = Seconds(6);
  EXPECT_EQ(ReportEvery(policy), Milliseconds(500));
  policy.node_lost_after = Hours(1);
  EXPECT_EQ(ReportEvery(policy), Seconds(5));
}

}  // namespace
}  // namespace glim::core
