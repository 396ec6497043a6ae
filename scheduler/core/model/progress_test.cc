#include "scheduler/core/model/progress.h"

#include <gtest/gtest.h>

namespace glim::core {
namespace {

TEST(Progress, IsStepsAndHowLongTheyTake) {
  Task before;
  before.ranks.resize(2);
  Task after = before;
  after.ranks[1].step = 7;
  after.ranks[1].step_time = Milliseconds(300);
  const Task as_handed_in = after;
  EXPECT_TRUE(DiffersInProgressAlone(before, after));
  EXPECT_EQ(after, as_handed_in);
  EXPECT_TRUE(SameButProgress(before, after));
}

TEST(Progress, IsNothingThatMustLast) {
  Task before;
  before.ranks.resize(1);
  for (auto* change : {+[](Task& t) { t.ranks[0].saves.emplace_back(); }, +[](Task& t) { t.ranks[0].leaving = true; },
                       +[](Task& t) { t.ranks[0].exited = true; }, +[](Task& t) { t.ranks[0].acked_agreement = 1; },
                       +[](Task& t) { t.phase = TaskPhase::kExited; }, +[](Task& t) { t.ranks.emplace_back(); }}) {
    Task after = before;
    after.ranks[0].step = 9;
    change(after);
    EXPECT_FALSE(DiffersInProgressAlone(before, after));
  }
}

TEST(Progress, OfAnAttemptIsItsStepButNotTheFirst) {
  Attempt before;
  Attempt first = before;
  first.last_step = 0;
  EXPECT_FALSE(DiffersInProgressAlone(before, first)) << "it ends a restore";
  Attempt later = first;
  later.last_step = 5;
  EXPECT_TRUE(DiffersInProgressAlone(first, later));
  EXPECT_EQ(later.last_step, 5);
  later.durable_step = 5;
  EXPECT_FALSE(DiffersInProgressAlone(first, later));
}

}  // namespace
}  // namespace glim::core
