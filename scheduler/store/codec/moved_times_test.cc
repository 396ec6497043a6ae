#include "scheduler/store/codec/moved_times.h"

#include <gtest/gtest.h>

#include <memory>

namespace glim::store {
namespace {

constexpr TimePoint kNow{1'800'000'000'000};
constexpr Duration kAhead = Hours(24) * 400;
constexpr TimePoint kWrong = kNow + kAhead;  // what the clock said when it was ahead

core::Job JobOf(std::uint64_t id, TimePoint submitted, TimePoint not_before = {}) {
  core::Job job;
  job.id = core::JobId(id);
  job.spec = std::make_shared<const core::JobSpec>();
  job.submitted_at = submitted;
  job.not_before = not_before;
  return job;
}

template <typename Row>
std::shared_ptr<const Row> Only(const std::vector<core::Mutation>& moved) {
  return moved.size() == 1 ? std::get<std::shared_ptr<const Row>>(moved.front()) : nullptr;
}

TEST(MovedTimes, WhatCannotHaveHappenedYetIsMovedAndNothingElse) {
  core::ClusterState rows;
  rows.Put(JobOf(1, kNow - Hours(5)));
  core::Job wrong = JobOf(2, kWrong - Hours(5), kWrong + Minutes(1));
  wrong.durable.at = kWrong - Hours(1);
  wrong.older = {wrong.durable};
  wrong.save_cost = Seconds(3);
  rows.Put(core::Job(wrong));
  const auto job = Only<core::Job>(MovedBack(rows, kNow, kAhead));
  ASSERT_TRUE(job);
  wrong.submitted_at = kNow - Hours(5);
  wrong.not_before = kNow + Minutes(1);
  wrong.durable.at = wrong.older[0].at = kNow - Hours(1);
  EXPECT_EQ(*job, wrong);
}

TEST(MovedTimes, WhatWasPlannedByTheRightClockStays) {
  core::ClusterState rows;
  core::Reservation month;
  month.name = "next-month";
  month.made_at = kNow - Hours(1);
  month.begins_at = kNow + Hours(24) * 30;
  month.ends_at = kNow + Hours(24) * 31;
  rows.Put(core::Reservation(month));
  core::Reservation wrong = month;
  wrong.name = "wrong";
  wrong.made_at = month.made_at + kAhead;
  wrong.begins_at = month.begins_at + kAhead;
  wrong.ends_at = month.ends_at + kAhead;
  rows.Put(std::move(wrong));
  month.name = "wrong";
  const auto moved = Only<core::Reservation>(MovedBack(rows, kNow, kAhead));
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, month);
}

TEST(MovedTimes, AnOpenInterruptKeepsItsTime) {
  core::ClusterState rows;
  rows.Put(JobOf(1, kNow - Hours(2)));
  core::Attempt attempt;
  attempt.id = {core::JobId(1), 1};
  attempt.started_at = kWrong - Hours(1);
  core::Agreement open;
  open.requested_at = kWrong - Minutes(1);
  open.deadline = kWrong + Minutes(4);
  attempt.agreements = {open};
  rows.Put(core::Attempt(attempt));
  attempt.started_at = kNow - Hours(1);
  attempt.agreements[0].requested_at = kNow - Minutes(1);
  attempt.agreements[0].deadline = kNow + Minutes(4);
  const auto moved = Only<core::Attempt>(MovedBack(rows, kNow, kAhead));
  ASSERT_TRUE(moved);
  EXPECT_EQ(*moved, attempt);
}

TEST(MovedTimes, AreInNodesAndTasksToo) {
  core::ClusterState rows;
  core::Node node;
  node.id = core::NodeId(1);
  node.use_since = kWrong;
  node.cordon.emplace().since = kWrong;
  node.cordon->until = kWrong + Hours(1);
  rows.Put(std::move(node));
  rows.Put(JobOf(1, kNow - Hours(2)));
  core::Attempt attempt;
  attempt.id = {core::JobId(1), 1};
  rows.Put(std::move(attempt));
  core::Task task;
  task.id = {{core::JobId(1), 1}, 0};
  task.released_at = kWrong;
  rows.Put(std::move(task));
  const auto moved = MovedBack(rows, kNow, kAhead);
  ASSERT_EQ(moved.size(), 2U);
  const auto& of_node = *std::get<std::shared_ptr<const core::Node>>(moved[0]);
  EXPECT_EQ(of_node.use_since, kNow);
  EXPECT_EQ(of_node.cordon->since, kNow);
  EXPECT_EQ(of_node.cordon->until, kNow + Hours(1));
  EXPECT_EQ(std::get<std::shared_ptr<const core::Task>>(moved[1])->released_at, kNow);
}

TEST(MovedTimes, TokensAndServiceAreMoved) {
  core::ClusterState rows;
  core::TokenRow token;
  token.id = "0123456789abcdef";
  token.created_at = kWrong;
  token.expires_at = kWrong + Hours(24) * 90;
  rows.ChangeIdentity({{token}});
  const auto moved = MovedBack(rows, kNow, kAhead);
  ASSERT_EQ(moved.size(), 1U);
  const auto& row = std::get<core::TokenRow>(std::get<core::IdentityChange>(moved.front()).row);
  EXPECT_EQ(row.created_at, kNow);
  EXPECT_EQ(row.expires_at, kNow + Hours(2'160));

  core::ClusterState shares;
  core::Share share;
  share.id = {"vision", "kim"};
  share.hour = kWrong.ms / Hours(1).ms;
  shares.Put(std::move(share));
  const auto back = Only<core::Share>(MovedBack(shares, kNow, kAhead));
  ASSERT_TRUE(back);
  EXPECT_LE(back->hour, kNow.ms / Hours(1).ms);
}

}  // namespace
}  // namespace glim::store
