// A set that does not fit loses the launches that are too large, and nothing else.
#include "scheduler/server/convert/desired_fit.h"

#include <gmock/gmock.h>

namespace glim::server {
namespace {

using ::testing::HasSubstr;

void AddTask(v1::DesiredState* set, std::uint64_t job, std::size_t run_bytes) {
  v1::DesiredTask& task = *set->add_tasks();
  task.mutable_attempt()->set_job_id(job);
  task.mutable_attempt()->set_number(2);
  task.set_index(3);
  if (run_bytes > 0) {
    task.mutable_launch()->set_run(std::string(run_bytes, 'x'));
  } else {
    task.mutable_stop()->set_reason("cancelled");
  }
}

TEST(FitDesired, WhatFitsStays) {
  v1::DesiredState set;
  AddTask(&set, 1, 1000);
  AddTask(&set, 2, 0);
  EXPECT_TRUE(FitDesired(kAgentTakesBytes, &set).empty());
  EXPECT_EQ(set.tasks_size(), 2);
}

TEST(FitDesired, TheLargestLaunchGoesAndFailsItsJob) {
  v1::DesiredState set;
  AddTask(&set, 1, 3 << 20);
  AddTask(&set, 2, 0);
  AddTask(&set, 3, 2 << 20);
  const std::vector<core::ObservedTask> failed = FitDesired(kAgentTakesBytes, &set);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].id, (core::TaskId{{core::JobId(1), 2}, 3}));
  EXPECT_TRUE(failed[0].start_failed);
  EXPECT_TRUE(failed[0].job_fault);
  EXPECT_EQ(failed[0].phase, core::TaskPhase::kReleased);
  EXPECT_THAT(failed[0].message, HasSubstr(std::to_string(kAgentTakesBytes)));
  ASSERT_EQ(set.tasks_size(), 2);
  EXPECT_TRUE(set.tasks(0).has_stop()) << "a stop is always told";
  EXPECT_EQ(set.tasks(1).attempt().job_id(), 3u);
}

TEST(FitDesired, WhatAnAgentSaysIsBoundedOnBothSides) {
  EXPECT_EQ(DesiredBytesMax(0), kAgentTakesBytes) << "an agent of the first release";
  EXPECT_EQ(DesiredBytesMax(100), kDesiredBytesLeast);
  EXPECT_EQ(DesiredBytesMax(32 << 20), 32u << 20);
  EXPECT_EQ(DesiredBytesMax(~0u), kDesiredBytesMax);
}

}  // namespace
}  // namespace glim::server
