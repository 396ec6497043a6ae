#include "scheduler/core/lifecycle/plan_entries.h"

#include <gtest/gtest.h>

namespace glim::core {
namespace {

TEST(PlanEntries, ANewRowCallsForAPass) {
  EXPECT_TRUE(CallsForAPass<NodeToPlan>(static_cast<const Node*>(nullptr), Node{}));
}

TEST(PlanEntries, WhatStartsAndWhatRunsAreAlike) {
  Job before, after;
  before.state = JobState::kStarting;
  after.state = JobState::kRunning;
  EXPECT_FALSE(CallsForAPass<JobToPlan>(&before, after));
  after.state = JobState::kQueued;
  EXPECT_TRUE(CallsForAPass<JobToPlan>(&before, after));
}

TEST(PlanEntries, WhatAJobHasSavedOrSaysCallsForNone) {
  Job before, after;
  after.durable.step = 41;
  after.message = "x";
  after.save_cost = Seconds(3);
  EXPECT_FALSE(CallsForAPass<JobToPlan>(&before, after));
}

// Its agent has shown receipts for what ran there: the next job may claim the node while another one holds it.
TEST(PlanEntries, AHeldNodeThatMayBeClaimedAgainCallsForAPass) {
  Node before;
  before.state = NodeState::kReady;
  before.holder = {JobId(1), 1};
  before.unproven = {{JobId(2), 1}};
  Node after = before;
  after.unproven.clear();
  ASSERT_FALSE(IsFree(after));
  EXPECT_TRUE(CallsForAPass<NodeToPlan>(&before, after));
}

TEST(PlanEntries, NodesAreComparedByWhatTheyHoldAndNotByWhereItLies) {
  Node before;
  before.labels.pool = "a100";
  Node after = before;
  after.message = "x";
  EXPECT_FALSE(CallsForAPass<NodeToPlan>(&before, after));
  after.labels.pool = "h100";
  EXPECT_TRUE(CallsForAPass<NodeToPlan>(&before, after));
}

// A place that is kept for another job moves off it, and what it stood on is to be had.
TEST(PlanEntries, ANodeThatIsLeftOutFromNowOnCallsForAPass) {
  const Node before;
  Node after = before;
  after.suspect_until = TimePoint{1000};
  EXPECT_TRUE(CallsForAPass<NodeToPlan>(&before, after));
  after = before;
  after.validation.need = ValidationNeed::kSuspicion;
  EXPECT_TRUE(CallsForAPass<NodeToPlan>(&before, after));
  after = before;
  after.lemon = true;
  EXPECT_TRUE(CallsForAPass<NodeToPlan>(&before, after));
  const Job job;
  Job hung = job, moved = job;
  hung.hung_on = {NodeId(3)};
  moved.moved_off = {NodeId(3)};
  EXPECT_TRUE(CallsForAPass<JobToPlan>(&job, hung));
  EXPECT_TRUE(CallsForAPass<JobToPlan>(&job, moved));
}

// Its nodes were to be had, and are not any more; or it has the first claim on them.
TEST(PlanEntries, AnAttemptThatStaysAfterAllCallsForAPass) {
  Attempt before;
  before.agreements.emplace_back();
  Attempt after = before;
  after.agreements[0].swap_aborted = true;
  EXPECT_TRUE(CallsForAPass<AttemptToPlan>(&before, after));
  after = before;
  after.agreements[0].state = AgreementState::kWithdrawn;
  EXPECT_TRUE(CallsForAPass<AttemptToPlan>(&before, after));
  after = before;
  after.last_step = 7;
  after.durable_step = 6;
  EXPECT_FALSE(CallsForAPass<AttemptToPlan>(&before, after));
}

// A short job may run on the place that is kept for it, if it is over by then.
TEST(PlanEntries, ALaterDeadlineOfAnAttemptThatMovesCallsForAPass) {
  Attempt before;
  before.agreements.emplace_back();
  Attempt after = before;
  after.agreements[0].deadline = TimePoint{1000};
  EXPECT_FALSE(CallsForAPass<AttemptToPlan>(&before, after));
  before.agreements[0].moved = after.agreements[0].moved = true;
  EXPECT_TRUE(CallsForAPass<AttemptToPlan>(&before, after));
}

TEST(PlanEntries, WhoSuspendsAJobThatMovesCallsForAPass) {
  Attempt before;
  before.agreements.emplace_back();
  before.agreements[0].moved = before.agreements[0].by_operator = true;
  before.agreements[0].deadline = TimePoint{1000};
  Attempt after = before;
  after.agreements[0].suspend = true;
  EXPECT_TRUE(CallsForAPass<AttemptToPlan>(&before, after));
}

// A reservation waits for it, and asks no other attempt.
TEST(PlanEntries, AnAttemptThatLeavesWhateverBecomesOfItsPreemptorCallsForAPass) {
  Attempt before;
  before.agreements.emplace_back();
  Attempt after = before;
  after.agreements[0].by_operator = true;
  EXPECT_TRUE(CallsForAPass<AttemptToPlan>(&before, after));
}

TEST(PlanEntries, AnAttemptThatGivesItsLinkUpCallsForAPass) {
  Attempt before;
  before.zones = {"A", "B"};
  before.agreements.emplace_back();
  Attempt after = before;
  after.agreements[0].state = AgreementState::kAgreed;
  ASSERT_TRUE(LeavesItsLink(after));
  EXPECT_TRUE(CallsForAPass<AttemptToPlan>(&before, after));
  before.zones = after.zones = {"A"};
  EXPECT_FALSE(CallsForAPass<AttemptToPlan>(&before, after));
}

}  // namespace
}  // namespace glim::core
