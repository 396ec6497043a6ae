// What the metrics say of a commit: each wait, start, interrupt and loss once, by the rows before and after it.
#include "scheduler/server/metrics/commit_figures.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::server {
namespace {

using core::Agreement;
using core::AgreementState;
using core::Attempt;
using core::AttemptState;
using core::Job;
using core::Mutation;
using core::Outcome;
using core::SaveResult;
using core::StopCause;

constexpr TimePoint kQueuedAt{1'000'000};
constexpr core::JobId kTheJob{7};

// One job that runs on one node of eight GPUs, and what becomes of it in one commit.
class CommitFiguresTest : public ::testing::Test {
 protected:
  CommitFiguresTest() {
    core::Node node;
    node.id = core::NodeId(1);
    node.name = "n1";
    node.labels.gpu_count = 8;
    state_.Put(node);
    job_.id = kTheJob;
    job_.spec = std::make_shared<const core::JobSpec>();
    job_.attempts = 1;
    attempt_.id = {kTheJob, 1};
    attempt_.nodes = {node.id};
    attempt_.queued_at = kQueuedAt;
    attempt_.state = AttemptState::kClaimed;
    Store();
  }
  void Store() {
    state_.Put(job_);
    state_.Put(attempt_);
  }
  void Start(Duration waited) {
    attempt_.state = AttemptState::kStarting;
    attempt_.started_at = kQueuedAt + waited;
  }
  void Run(Duration took) {
    attempt_.state = AttemptState::kRunning;
    attempt_.running_at = attempt_.started_at + took;
  }
  void End(Outcome outcome, SaveResult left, Duration after) {
    attempt_.state = AttemptState::kEnded;
    attempt_.outcome = outcome;
    attempt_.save = left;
    attempt_.ended_at = attempt_.running_at + after;
  }
  // From `requested` after it ran; every phase took a second.
  Agreement Asked(Duration requested) const {
    Agreement agreement;
    agreement.id = 1;
    agreement.preemptor = {core::JobId(8), 1};
    agreement.state = AgreementState::kEnded;
    agreement.requested_at = attempt_.running_at + requested;
    agreement.notified_at = agreement.requested_at + Seconds(1);
    agreement.agreed_at = agreement.requested_at + Seconds(2);
    agreement.saved_at = agreement.requested_at + Seconds(3);
    agreement.left_at = agreement.requested_at + Seconds(4);
    agreement.released_at = agreement.requested_at + Seconds(5);
    agreement.deadline = agreement.requested_at + Seconds(60);
    return agreement;
  }
  void Lose(std::int64_t gpu_ms) { job_.ledger[static_cast<std::size_t>(core::Use::kLost)] += gpu_ms; }
  // Of a commit that writes both rows as they are now.
  CommitFigures Figures() {
    mutations_ = {std::make_shared<const Job>(job_), std::make_shared<const Attempt>(attempt_)};
    return FiguresOf(state_.tables(), mutations_, policy_);
  }

  core::ClusterState state_;
  core::Policy policy_;
  Job job_;
  Attempt attempt_;
  std::vector<Mutation> mutations_;
};

TEST_F(CommitFiguresTest, AWaitEndsOnceWhenAllNodesAreHeld) {
  Start(Seconds(90));
  const CommitFigures figures = Figures();
  ASSERT_EQ(figures.started.size(), 1u);
  EXPECT_EQ(figures.started[0].waited, Seconds(90));
  EXPECT_EQ(figures.started[0].nodes, 1u);
  EXPECT_TRUE(figures.started[0].wait_kept);
  EXPECT_TRUE(figures.starting.empty());
  Store();
  EXPECT_TRUE(Figures().started.empty()) << "it was told";
}

TEST_F(CommitFiguresTest, AWaitBeyondTheBoundIsABrokenPromise) {
  Start(policy_.starvation_bound + Milliseconds(1));
  EXPECT_FALSE(Figures().started.at(0).wait_kept);
}

TEST_F(CommitFiguresTest, ARowThatIsWrittenTwiceInACommitCountsOnce) {
  Start(Seconds(1));
  mutations_ = {std::make_shared<const Attempt>(attempt_), std::make_shared<const Attempt>(attempt_)};
  EXPECT_EQ(FiguresOf(state_.tables(), mutations_, policy_).started.size(), 1u);
}

TEST_F(CommitFiguresTest, AStartTakesUntilEveryTaskIsSeenRunning) {
  Start(Seconds(1));
  Store();
  Run(Seconds(4));
  EXPECT_EQ(Figures().starting, std::vector<Duration>{Seconds(4)});
}

TEST_F(CommitFiguresTest, AnInterruptHasItsPhasesItsCostAndItsPromises) {
  Start(Seconds(1));
  Run(Seconds(1));
  Store();
  attempt_.agreements = {Asked(Seconds(100))};
  End(Outcome::kInterrupted, SaveResult::kSaved, Seconds(105));
  const CommitFigures figures = Figures();
  ASSERT_EQ(figures.ended.size(), 1u);
  ASSERT_TRUE(figures.ended[0].interrupt);
  const Interrupted& interrupt = *figures.ended[0].interrupt;
  EXPECT_EQ(interrupt.cause, InterruptCause::kPreempt);
  EXPECT_EQ(interrupt.left, SaveResult::kSaved);
  for (const std::int64_t phase : interrupt.phases_ms) EXPECT_EQ(phase, 1000);
  EXPECT_EQ(interrupt.took, Seconds(5));
  EXPECT_EQ(interrupt.leave_gpu_ms, 8 * 5000);
  EXPECT_TRUE(interrupt.grace_kept);
  EXPECT_TRUE(interrupt.release_kept);
  EXPECT_EQ(figures.ended[0].lost_gpu_ms, 0);
}

TEST_F(CommitFiguresTest, WhoIsStoppedAtTheDeadlineBreaksItsPromiseAndLosesWhatWasNotSaved) {
  Start(Seconds(1));
  Run(Seconds(1));
  Store();
  Agreement asked = Asked(Seconds(100));
  asked.saved_at = {};
  asked.left_at = asked.deadline + policy_.kill_after_term + policy_.release_max + Seconds(1);
  asked.released_at = asked.left_at;
  attempt_.agreements = {asked};
  attempt_.stop = StopCause::kDeadline;
  End(Outcome::kInterrupted, SaveResult::kKilled, asked.released_at - attempt_.running_at);
  Lose(800'000);
  const CommitFigures figures = Figures();
  const Ended& ended = figures.ended.at(0);
  EXPECT_FALSE(ended.interrupt->grace_kept);
  EXPECT_FALSE(ended.interrupt->release_kept);
  EXPECT_EQ(ended.interrupt->phases_ms[2], -1) << "it never came to the save";
  EXPECT_EQ(ended.lost_gpu_ms, 800'000);
  EXPECT_STREQ(LossCause(ended), "interrupt_killed");
}

TEST_F(CommitFiguresTest, WhyAnAttemptWasAskedIsOneOfFewWords) {
  const auto cause_of = [&](const std::function<void(Agreement&)>& change) {
    Agreement asked = Asked(Seconds(1));
    change(asked);
    attempt_.agreements = {asked};
    End(Outcome::kInterrupted, SaveResult::kSaved, Seconds(6));
    return std::string(ToString(Figures().ended.at(0).interrupt->cause));
  };
  Start(Seconds(1));
  Run(Seconds(1));
  Store();
  EXPECT_EQ(cause_of([](Agreement&) {}), "preempt");
  EXPECT_EQ(cause_of([](Agreement& a) { a.suspend = true; }), "suspend");
  EXPECT_EQ(cause_of([](Agreement& a) { a.time_limit = true; }), "time_limit");
  EXPECT_EQ(cause_of([](Agreement& a) { a.moved = true; }), "move");
  EXPECT_EQ(cause_of([](Agreement& a) { a.by_operator = true; }), "operator");
}

TEST_F(CommitFiguresTest, WhoLeftByItselfWasNotAsked) {
  Start(Seconds(1));
  Run(Seconds(1));
  Store();
  Agreement earlier = Asked(Seconds(1));
  earlier.state = AgreementState::kWithdrawn;
  attempt_.agreements = {earlier};
  End(Outcome::kInterrupted, SaveResult::kSaved, Seconds(50));
  const CommitFigures figures = Figures();
  EXPECT_EQ(figures.ended.at(0).interrupt->cause, InterruptCause::kYield);
  EXPECT_FALSE(figures.ended.at(0).interrupt->asked);
}

TEST_F(CommitFiguresTest, AFailureIsNoInterruptAndMayLoseTime) {
  Start(Seconds(1));
  Run(Seconds(1));
  Lose(5'000);  // before: not this attempt's
  Store();
  End(Outcome::kNodeFailure, SaveResult::kNone, Seconds(10));
  Lose(80'000);
  const CommitFigures figures = Figures();
  EXPECT_FALSE(figures.ended.at(0).interrupt);
  EXPECT_EQ(figures.ended.at(0).lost_gpu_ms, 80'000);
  EXPECT_STREQ(LossCause(figures.ended.at(0)), "node_failure");
}

TEST_F(CommitFiguresTest, AClaimThatIsDroppedNeverBegan) {
  attempt_.state = AttemptState::kEnded;
  attempt_.outcome = Outcome::kClaimDropped;
  EXPECT_TRUE(Figures().ended.empty());
}

}  // namespace
}  // namespace glim::server
