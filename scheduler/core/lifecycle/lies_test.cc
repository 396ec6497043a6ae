// What jobs and nodes say that is not so harms themselves alone, or others within a bound. docs/security.md has the
// table of all that is believed; tests of a claim that has a source of its own stand beside that one.
#include <gtest/gtest.h>

#include <cstdint>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

constexpr std::int64_t kFarAhead = std::int64_t{1} << 53;

TEST(Lies, OfAStepThatIsNeverReachedEndTheJobAtItsDeadline) {
  Cluster c(Zones{}, testing::Patient());
  const JobId job = c.Running(Spec(2), "eve");
  c.script(job).saves = c.script(job).leaves = false;
  c.Step(job, kFarAhead);
  const JobId urgent = c.Submit(Spec(2, PriorityClass::kHigh), "ann");
  for (const std::uint32_t index : {0u, 1u}) c.Ack(job, index, kFarAhead);
  ASSERT_EQ(c.agreement(job).stop_step, kFarAhead);
  c.EditAll(job, [](ObservedTask& task) { task.ranks[0].extend = Hours(24); });
  c.Advance(c.policy().max_grace_cap.For(PriorityClass::kNormal));
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).save, SaveResult::kKilled);
  EXPECT_EQ(c.job(urgent).state, JobState::kRunning);
}

// Node 3 says that both tasks of the job are gone, that one is its own, and that it has ended well.
TEST(Lies, OfAnotherNodesTasksCountForNothing) {
  Cluster c(Zones{.nodes = 3}, testing::Patient());
  const JobId job = c.Running(Spec(2));
  const NodeId liar{3};
  ASSERT_FALSE(c.node(liar).holder);
  for (const TaskPhase phase : {TaskPhase::kExited, TaskPhase::kReleased, TaskPhase::kRunning}) {
    for (const std::uint32_t index : {0u, 1u}) {
      ObservedTask told;
      told.id = {c.attempt(job).id, index};
      told.phase = phase;
      told.lost = phase == TaskPhase::kExited;
      Rank& rank = told.ranks.emplace_back();
      rank.rank = index;
      rank.exited = phase == TaskPhase::kReleased;
      rank.step = kFarAhead;
      c.Do(NodeReported{liar, c.session(liar), true, {told}});
    }
  }
  c.Settle();
  EXPECT_EQ(c.job(job).attempts, 1u);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  EXPECT_EQ(c.attempt(job).last_step, -1);
  EXPECT_EQ(c.task(job, 0).phase, TaskPhase::kRunning);
  EXPECT_FALSE(c.task(job, 0).lost || c.task(job, 1).lost);
}

}  // namespace
}  // namespace glim::core
