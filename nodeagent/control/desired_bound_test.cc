// A node with hundreds of leftovers is given back: their stops are obeyed.
#include "nodeagent/control/desired_bound.h"

#include <gtest/gtest.h>

#include "nodeagent/sync/wire.h"

namespace glim::nodeagent {
namespace {

v1::DesiredTask* Want(v1::DesiredState* set, std::uint64_t job) {
  v1::DesiredTask* task = set->add_tasks();
  task->mutable_attempt()->set_job_id(job);
  task->mutable_attempt()->set_number(1);
  return task;
}

bool Lists(const v1::DesiredState& set, std::uint64_t job) {
  for (const v1::DesiredTask& task : set.tasks()) {
    if (task.attempt().job_id() == job) return true;
  }
  return false;
}

constexpr std::uint64_t kRuns = 10'000, kNew = 10'001;

// Stops of `stops` leftovers that nobody knows here, of a task that runs here, and the launch of another.
v1::DesiredState SetOf(std::uint64_t stops) {
  v1::DesiredState set;
  for (std::uint64_t job = 1; job <= stops; ++job) Want(&set, job)->mutable_stop();
  Want(&set, kNew)->mutable_launch();
  Want(&set, kRuns)->mutable_interrupt();
  return set;
}

bool IsKnown(const TaskKey& key) { return key.job == kRuns; }

TEST(DesiredBound, AUsualSetIsTakenAsItIs) {
  v1::DesiredState set = SetOf(254);
  EXPECT_TRUE(BoundTasks(&set, IsKnown));
  EXPECT_EQ(set.tasks_size(), 256);
  EXPECT_TRUE(Lists(set, kNew));
}

TEST(DesiredBound, OfOneThatIsTooLargeTheStopsAreObeyedAndNothingNewIsLaunched) {
  v1::DesiredState set = SetOf(255);
  EXPECT_FALSE(BoundTasks(&set, IsKnown));
  EXPECT_EQ(set.tasks_size(), 256);
  EXPECT_TRUE(Lists(set, kRuns)) << "what runs here is no orphan by that";
  EXPECT_FALSE(Lists(set, kNew));
  for (std::uint64_t job = 1; job <= 255; ++job) EXPECT_TRUE(Lists(set, job)) << job;
}

TEST(DesiredBound, ManyMoreAreObeyedOneSetAfterAnother) {
  v1::DesiredState set = SetOf(1'000);
  EXPECT_FALSE(BoundTasks(&set, IsKnown));
  EXPECT_EQ(set.tasks_size(), 256) << "as many as one report may answer";
  EXPECT_TRUE(Lists(set, kRuns));
  EXPECT_TRUE(Lists(set, 255));
  EXPECT_FALSE(Lists(set, 256));
}

}  // namespace
}  // namespace glim::nodeagent
