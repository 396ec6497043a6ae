#include "scheduler/core/model/attempt_tasks.h"

#include <gtest/gtest.h>

namespace glim::core {
namespace {

// Two ranks, of which so many are known to have exited.
Task Ended(int exited, std::int32_t exit_code) {
  Task task;
  task.phase = TaskPhase::kReleased;
  task.exit_code = exit_code;
  task.ranks.resize(2);
  for (int i = 0; i < exited; ++i) task.ranks[static_cast<std::size_t>(i)].exited = true;
  return task;
}

TEST(AnExitCode, IsKnownWhenTheRanksEndsAre) {
  EXPECT_TRUE(ExitIsKnown(Ended(2, 0)));
  EXPECT_TRUE(ExitIsKnown(Ended(1, 7))) << "one has failed, whatever became of the other";
  EXPECT_FALSE(ExitIsKnown(Ended(1, 0))) << "the other was lost";
  EXPECT_FALSE(ExitIsKnown(Ended(0, 143))) << "it never ran";
  Task runs = Ended(2, 0);
  runs.phase = TaskPhase::kRunning;
  EXPECT_FALSE(ExitIsKnown(runs));
}

}  // namespace
}  // namespace glim::core
