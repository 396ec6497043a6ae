// Who of a gang is named when it failed, and what is said of it.
#include "scheduler/core/lifecycle/failed_rank.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::ScriptedAgent;
using testing::Spec;
using testing::SpecWith;

struct RankExit {
  std::int32_t code = 0;
  std::int64_t at = 0;  // 0: it does not say
};

struct FailureCase {
  const char* what;
  std::vector<RankExit> exits;  // by rank; two ranks a task
  std::int64_t stop_at;
  std::int32_t named;
  std::int32_t first;  // -1: none
};

const FailureCase kFailureCases[] = {
    {"nobody failed", {{0, 5}, {0, 6}}, 0, -1, -1},
    {"one did", {{0, 5}, {1, 6}}, 0, -1, 1},
    {"the first by the time", {{1, 9}, {1, 8}, {1, 7}, {1, 8}}, 0, -1, 2},
    {"then by rank", {{1, 9}, {1, 7}, {1, 7}, {1, 7}}, 0, -1, 1},
    {"one that does not say when comes last", {{1, 0}, {1, 9}}, 0, -1, 1},
    {"where nobody says when: by rank", {{1, 0}, {1, 0}}, 0, -1, 0},
    {"after the stop they are killed", {{143, 12}, {1, 9}, {137, 11}}, 10, 1, 1},
    {"at the moment of the stop nobody has been killed yet", {{1, 10}, {1, 11}}, 10, 1, 0},
    {"another failed before the one that was heard of first", {{1, 7}, {1, 9}}, 10, 1, 0},
    {"who does not say when may have been killed", {{143, 0}, {1, 9}}, 10, 1, 1},
    {"who was named failed by itself, whenever", {{1, 30}, {143, 40}}, 10, 0, 0},
    {"who was named does not say when", {{1, 0}, {143, 40}}, 10, 0, 0},
};

TEST(FirstFailure, IsByTimeThenRankOfThoseThatFailedByThemselves) {
  for (const FailureCase& c : kFailureCases) {
    std::vector<Task> rows((c.exits.size() + 1) / 2);
    for (std::size_t i = 0; i < c.exits.size(); ++i) {
      Rank& rank = rows[i / 2].ranks.emplace_back();
      rank.rank = static_cast<std::uint32_t>(i);
      rank.exited = true;
      rank.exit_code = c.exits[i].code;
      rank.exited_at = TimePoint{c.exits[i].at};
    }
    std::vector<const Task*> tasks;
    for (const Task& row : rows) tasks.push_back(&row);
    const FailedRank found = FirstFailure(tasks, TimePoint{c.stop_at}, c.named);
    EXPECT_EQ(found ? static_cast<std::int32_t>(found.rank->rank) : -1, c.first) << c.what;
  }
}

TEST(DescribeFailure, SaysWhoHowAndWhy) {
  Task task;
  Rank rank;
  rank.rank = 2;
  rank.exit_code = 1;
  const FailedRank failed{&task, &rank};
  EXPECT_EQ(DescribeFailure("n1", failed), "rank 2 on node n1 exited with code 1");
  rank.cause = "ModuleNotFoundError: No module named 'glim'";
  EXPECT_EQ(DescribeFailure("n1", failed),
            "rank 2 on node n1 exited with code 1: ModuleNotFoundError: No module named 'glim'");
  rank.exit_code = 127;
  rank.cause = "/bin/bash: line 1: nosuch: command not found";
  EXPECT_EQ(DescribeFailure("n1", failed),
            "rank 2 on node n1 exited with code 127 (command not found): /bin/bash: line 1: nosuch: command not found");
  rank.exit_code = 137;
  rank.cause = "step 7";
  task.message = "out of memory: the kernel killed 1 process(es) of the task";
  EXPECT_EQ(DescribeFailure("n1", failed),
            "rank 2 on node n1 exited with code 137 (signal 9): out of memory: the "
            "kernel killed 1 process(es) of the task; step 7");
  rank.cause = task.message = "its /tmp holds 6.0 MiB, and this node allows 4.0 MiB (tmp_bytes)";
  EXPECT_EQ(DescribeFailure("n1", failed), "rank 2 on node n1 exited with code 137 (signal 9): " + rank.cause);
}

void FailRank(Cluster& c, JobId job, std::uint32_t index, TimePoint at, const char* cause) {
  c.Edit(job, index, [&](ObservedTask& task) {
    ScriptedAgent::Release(task, 1);
    task.ranks[0].exited_at = at;
    task.ranks[0].cause = cause;
  });
}

TEST(AFailedGang, NamesTheRankThatFailedFirstThoughAnotherNodeIsHeardFirst) {
  Cluster c(testing::Zones{.nodes = 3});
  const JobId job = c.Running(Spec(3));
  const TimePoint at = c.now();
  c.Advance(Milliseconds(50));
  FailRank(c, job, 2, at + Milliseconds(20), "RuntimeError: Connection reset by peer");
  EXPECT_EQ(c.attempt(job).failed_rank, 2);
  EXPECT_EQ(c.attempt(job).message, "rank 2 on node n3 exited with code 1: RuntimeError: Connection reset by peer");
  FailRank(c, job, 1, at + Milliseconds(10), "ValueError: bad");
  c.Settle();  // rank 0 is killed
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_EQ(c.attempt(job).failed_rank, 1);
  EXPECT_EQ(c.attempt(job).exit_code, 1);
  EXPECT_EQ(c.attempt(job).message, "rank 1 on node n2 exited with code 1: ValueError: bad");
  EXPECT_EQ(c.job(job).message, c.attempt(job).message);
}

TEST(AFailedGang, DoesNotNameWhoWasKilledForIt) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Advance(Milliseconds(50));
  FailRank(c, job, 1, c.now() - Milliseconds(10), "ValueError: bad");
  c.Edit(job, 0, [&](ObservedTask& task) {
    ScriptedAgent::Release(task, 143);
    task.ranks[0].exited_at = c.now() + Milliseconds(30);
  });
  EXPECT_EQ(c.attempt(job).failed_rank, 1);
  EXPECT_EQ(c.job(job).message, "rank 1 on node n2 exited with code 1: ValueError: bad");
}

TEST(AFailedGang, ARepeatedReportDoesNotTakeBackWhy) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  const TimePoint at = c.now();
  FailRank(c, job, 1, at, "ValueError: bad");
  c.Edit(job, 1, [](ObservedTask& task) {
    task.ranks[0].cause.clear();
    task.ranks[0].exited_at = {};
  });
  EXPECT_EQ(c.task(job, 1).ranks[0].cause, "ValueError: bad");
  EXPECT_EQ(c.task(job, 1).ranks[0].exited_at, at);
}

TEST(AnAttempt, ThatDidNotFailNamesNoRank) {
  Cluster c;
  const JobId job = c.Running(Spec(2));
  c.Finish(job);
  EXPECT_EQ(c.attempt(job).failed_rank, -1);
  const JobId cancelled = c.Running(Spec(2));
  c.Cancel(cancelled);
  c.Settle();
  EXPECT_EQ(c.attempt(cancelled).failed_rank, -1);
}

}  // namespace
}  // namespace glim::core
