// The life of a job: cancel, suspend and resume in each state, by its owner alone, and where it goes after an attempt.
#include "scheduler/core/lifecycle/job_machine.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/validations.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

// Each brings job 1 into the state that it is named after.
struct State {
  JobState state;
  void (*reach)(Cluster&);
};

const State kStates[] = {
    {JobState::kStarting, [](Cluster& c) { c.Submit(Spec(2)); }},
    {JobState::kRunning, [](Cluster& c) { c.Running(Spec(2)); }},
    {JobState::kInterrupting,
     [](Cluster& c) {
       c.Running(Spec(2));
       c.Submit(Spec(2, PriorityClass::kHigh), "bob");
     }},
    {JobState::kCancelling,
     [](Cluster& c) {
       c.Running(Spec(2));
       c.Cancel(JobId(1));
     }},
    {JobState::kSuspending,
     [](Cluster& c) {
       c.Running(Spec(2));
       c.Suspend(JobId(1));
     }},
    {JobState::kHeld,
     [](Cluster& c) {
       c.Running(Spec(2));
       c.Suspend(JobId(1));
       c.Settle();
     }},
    {JobState::kSucceeded,
     [](Cluster& c) {
       c.Running(Spec(2));
       c.Finish(JobId(1));
     }},
    {JobState::kCancelled,
     [](Cluster& c) {
       c.Running(Spec(2));
       c.Cancel(JobId(1));
       c.Settle();
     }},
    {JobState::kFailed,
     [](Cluster& c) {
       c.Running(Spec(2));
       c.Exit(JobId(1), 0, 1);
       c.Settle();
     }},
    {JobState::kQueued,
     [](Cluster& c) {
       c.Silence(NodeId(1), true);
       c.Submit(Spec(2));
     }},
};

// What an order does to a job in a state: the state at once, and after the agents have obeyed. A refused one changes
// nothing.
struct Order {
  JobState from;
  bool refused;
  JobState at_once;
  JobState settled;
};

void Expect(const Order& order, Reply (Cluster::*give)(JobId, const std::string&)) {
  SCOPED_TRACE(ToString(order.from));
  Cluster c;
  for (const State& state : kStates) {
    if (state.state == order.from) state.reach(c);
  }
  ASSERT_EQ(c.job(JobId(1)).state, order.from);
  const Job before = c.job(JobId(1));
  const Reply reply = (c.*give)(JobId(1), "ann");
  if (order.refused) {
    EXPECT_EQ(reply.status.code(), StatusCode::kFailedPrecondition);
    EXPECT_EQ(reply.status.reason(), "WRONG_STATE");
    EXPECT_EQ(c.job(JobId(1)), before);
    return;
  }
  EXPECT_TRUE(reply.status.ok()) << reply.status.message();
  EXPECT_EQ(reply.state, ToString(order.at_once));
  c.Settle();
  EXPECT_STREQ(ToString(c.job(JobId(1)).state), ToString(order.settled));
}

TEST(Cancel, InEachState) {
  using enum JobState;
  const Order kOrders[] = {
      {kQueued, false, kCancelled, kCancelled},
      {kStarting, false, kCancelling, kCancelled},
      {kRunning, false, kCancelling, kCancelled},
      {kInterrupting, false, kCancelling, kCancelled},
      {kCancelling, false, kCancelling, kCancelled},
      {kSuspending, false, kCancelling, kCancelled},
      {kHeld, false, kCancelled, kCancelled},
      {kSucceeded, true, kSucceeded, kSucceeded},
      {kFailed, true, kFailed, kFailed},
      {kCancelled, true, kCancelled, kCancelled},
  };
  for (const Order& order : kOrders) Expect(order, &Cluster::Cancel);
}

TEST(Suspend, InEachState) {
  using enum JobState;
  const Order kOrders[] = {
      {kQueued, false, kHeld, kHeld},
      {kStarting, false, kSuspending, kHeld},
      {kRunning, false, kSuspending, kHeld},
      {kInterrupting, false, kSuspending, kHeld},
      {kCancelling, true, kCancelling, kCancelled},
      {kSuspending, false, kSuspending, kHeld},
      {kHeld, false, kHeld, kHeld},
      {kSucceeded, true, kSucceeded, kSucceeded},
      {kFailed, true, kFailed, kFailed},
      {kCancelled, true, kCancelled, kCancelled},
  };
  for (const Order& order : kOrders) Expect(order, &Cluster::Suspend);
}

TEST(Resume, InEachState) {
  using enum JobState;
  const Order kOrders[] = {
      {kQueued, true, kQueued, kQueued},
      {kStarting, true, kStarting, kRunning},
      {kRunning, true, kRunning, kRunning},
      {kInterrupting, true, kInterrupting, kQueued},
      {kCancelling, true, kCancelling, kCancelled},
      {kSuspending, false, kInterrupting, kRunning},
      {kHeld, false, kStarting, kRunning},
      {kSucceeded, true, kSucceeded, kSucceeded},
      {kFailed, true, kFailed, kFailed},
      {kCancelled, true, kCancelled, kCancelled},
  };
  for (Order order : kOrders) {
    // A held job queues again; the reply comes before the pass that starts it.
    if (order.from == kHeld) order.at_once = kQueued;
    Expect(order, &Cluster::Resume);
  }
}

TEST(Orders, OfOthersAndToUnknownJobsAreRefused) {
  using Give = Reply (Cluster::*)(JobId, const std::string&);
  for (const Give give : {&Cluster::Cancel, &Cluster::Suspend, &Cluster::Resume}) {
    Cluster c;
    c.Running(Spec(1));
    const Job before = c.job(JobId(1));
    const Reply other = (c.*give)(JobId(1), "bob");
    EXPECT_EQ(other.status.code(), StatusCode::kPermissionDenied);
    EXPECT_EQ(other.status.reason(), "NOT_YOURS");
    EXPECT_EQ(c.job(JobId(1)), before);
    EXPECT_EQ((c.*give)(JobId(7), "ann").status.code(), StatusCode::kNotFound);
  }
}

TEST(Cancel, AClaimedJobGivesItsClaimsBackAtOnce) {
  Cluster c;
  const JobId victim = c.Running(Spec(2));
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  EXPECT_EQ(c.attempt(urgent).state, AttemptState::kClaimed);
  EXPECT_EQ(c.Cancel(urgent, "bob").state, "cancelled");
  EXPECT_EQ(c.attempt(urgent).outcome, Outcome::kClaimDropped);
  EXPECT_EQ(c.job(victim).state, JobState::kRunning) << "the interrupt was withdrawn";
}

TEST(Suspend, ASuspendedJobSavesBeforeItLeavesAndGoesOnFromThere) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Step(job, 40);
  c.Suspend(job);
  c.Settle();
  EXPECT_EQ(c.attempt(job).save, SaveResult::kSaved);
  EXPECT_EQ(c.job(job).durable.step, 41);
  EXPECT_EQ(c.job(job).message, "suspended by its user");
  EXPECT_TRUE(IsFree(c.node(NodeId(1)))) << "it holds nothing while it is held";
  c.Resume(job);
  c.Settle();
  EXPECT_EQ(c.attempt(job).id.number, 2u);
  EXPECT_EQ(c.attempt(job).base.step, 41);
}

TEST(Interrupt, AnInterruptedJobKeepsItsFirstSubmission) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  const TimePoint submitted = c.job(job).submitted_at;
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  EXPECT_EQ(c.job(job).submitted_at, submitted);
  EXPECT_EQ(c.job(job).queued_at, c.now());
  EXPECT_EQ(c.job(job).interrupts, 1u);
  EXPECT_EQ(c.job(urgent).state, JobState::kRunning);
  c.Finish(urgent);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST(StartFailure, IsTriedElsewhereThreeTimesThenFails) {
  Cluster c(Zones{.nodes = 4});
  const JobId job = c.Submit(Spec(1));
  c.script(job).starts = false;
  std::set<NodeId> tried;
  for (std::uint32_t failures = 1; failures <= 3; ++failures) {
    tried.insert(c.attempt(job).nodes[0]);
    c.Settle();
    EXPECT_EQ(c.attempt(job).outcome, Outcome::kStartFailed);
    EXPECT_EQ(c.job(job).start_failures, failures);
    EXPECT_EQ(c.job(job).state, failures < 3 ? JobState::kQueued : JobState::kFailed);
    c.Advance(c.policy().start_backoff);
  }
  EXPECT_EQ(tried.size(), 3u) << "each time on another node";
  EXPECT_EQ(c.node(NodeId(1)).suspect, 1u);
  EXPECT_NE(c.job(job).message.find("port taken"), std::string::npos) << c.job(job).message;
  EXPECT_EQ(c.job(job).restarts, 0u);
}

TEST(StartFailure, ASuccessfulStartForgivesEarlierOnes) {
  Cluster c;
  const JobId job = c.Submit(Spec(1));
  c.script(job).starts = false;
  c.Settle();
  c.Advance(c.policy().start_backoff);
  c.script(job).starts = true;
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.job(job).start_failures, 0u);
}

TEST(NodeFailure, RestartsAtOnceFromTheLastDurableSaveAndElsewhere) {
  Cluster c(Zones{.nodes = 3});
  const JobId job = c.Running(Spec(2));
  c.Save(job, 30);
  c.Step(job, 35);
  const NodeId lost = c.attempt(job).nodes[1];
  c.Edit(job, 1, [](ObservedTask& task) { task.lost = true; });
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNodeFailure);
  EXPECT_EQ(c.job(job).restarts, 1u);
  EXPECT_EQ(c.job(job).steps_lost, 5);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.attempt(job).base.step, 30);
  for (const NodeId node : c.attempt(job).nodes) EXPECT_NE(node, lost) << "another one fits";
}

TEST(ProgramFailure, IsNotRestarted) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Exit(job, 1, 3);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.attempt(job).exit_code, 3);
  EXPECT_NE(c.job(job).message.find("rank 1 on node n2 exited with code 3"), std::string::npos) << c.job(job).message;
  EXPECT_TRUE(IsFree(c.node(NodeId(1))));
}

TEST(Finished, TheOldestAreForgottenBeyondTheBound) {
  Cluster c;
  c.policy().finished_jobs_kept = 2;
  for (int i = 0; i < 4; ++i) {
    const JobId job = c.Running(Spec(1));
    c.Finish(job);
  }
  EXPECT_EQ(c.state().FindJob(JobId(2)), nullptr);
  EXPECT_NE(c.state().FindJob(JobId(3)), nullptr);
  EXPECT_EQ(c.state().FindAttempt({JobId(2), 1}), nullptr);
  EXPECT_EQ(c.state().next_job_id, JobId(5));
}

// The job that just ended may be the oldest by (end, id): the same millisecond, or a clock that was set back.
// Nodes are measured as often as the policy says, by jobs of the cluster's own.
TEST(Finished, NobodysJobIsForgottenForThoseThatMeasureNodes) {
  Policy policy = testing::Validating({.every = Hours(1)});
  policy.finished_jobs_kept = 20;
  Cluster c(Zones{.nodes = 2}, policy);
  const JobId mine = c.Running(Spec(1));
  c.Finish(mine);
  c.Settle();
  ASSERT_EQ(c.job(mine).state, JobState::kSucceeded);
  std::uint32_t measured = 0;
  for (int hour = 0; hour < 24; ++hour) {
    for (const NodeId node : {NodeId(1), NodeId(2)}) {
      if (!testing::MeasuringOf(c, node)) continue;
      testing::Measured(c, node, 0);
      ++measured;
    }
    c.Advance(Hours(1) + Minutes(1));
  }
  EXPECT_GE(measured, 30u);
  EXPECT_NE(c.state().FindJob(mine), nullptr)
      << "asked about by its number, waited for by others, its request repeated";
  EXPECT_EQ(c.state().index().kept.ended.by_end.size(), 1u);
  EXPECT_EQ(c.state().index().kept.measured.by_end.size(), 2u) << "a tenth of as many";
}

TEST(Finished, AVerdictThatIsYetToBeTakenInIsNotForgotten) {
  Policy policy = testing::Validating({.on_join = true});
  policy.finished_jobs_kept = 10;
  Cluster c(Zones{.nodes = 3}, policy);
  c.Settle();
  std::vector<Event> reports;
  for (const NodeId node : {NodeId(1), NodeId(2), NodeId(3)}) {
    const JobId job = testing::MeasuringOf(c, node);
    ASSERT_TRUE(job);
    NodeReported report{node, c.session(node), true, c.agent(node).Observed()};
    for (ObservedTask& task : report.tasks) testing::ScriptedAgent::Release(task, 0);
    reports.push_back({0, c.now(), std::move(report)});
  }
  c.Commit(Apply(c.state(), c.policy(), reports));
  for (const NodeId node : {NodeId(1), NodeId(2), NodeId(3)}) {
    EXPECT_TRUE(c.node(node).validation.good_at) << c.node(node).name;
    EXPECT_EQ(c.node(node).validation.need, ValidationNeed::kNone) << c.node(node).name;
  }
}

TEST(Finished, AnEndingJobIsAnsweredEvenIfItIsTheOldest) {
  Cluster same;
  same.policy().finished_jobs_kept = 1;
  same.Submit(Spec(2));
  same.Submit(Spec(2));
  same.Submit(Spec(2));
  EXPECT_EQ(same.Cancel(JobId(3)).state, "cancelled");
  EXPECT_EQ(same.Cancel(JobId(2)).state, "cancelled");
  Cluster none;
  none.policy().finished_jobs_kept = 0;
  none.Submit(Spec(2));
  none.Submit(Spec(2));
  EXPECT_EQ(none.Cancel(JobId(2)).state, "cancelled");
}

}  // namespace
}  // namespace glim::core
