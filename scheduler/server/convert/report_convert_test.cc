// What ranks say through their agents is bounded before the core sees it.
#include "scheduler/server/convert/report_convert.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace glim::server {
namespace {

v1::NodeReport ReportWith(const v1::SaveFailure& failure) {
  v1::NodeReport report;
  v1::ObservedTask& task = *report.add_tasks();
  task.mutable_attempt()->set_job_id(7);
  task.mutable_attempt()->set_number(1);
  task.set_phase(v1::ObservedTask::RUNNING);
  v1::ObservedRank& rank = *task.add_ranks();
  rank.set_step(-1);
  rank.set_hold(-1);
  rank.set_restored_step(-1);
  if (failure.count() > 0) *rank.mutable_save_failure() = failure;
  return report;
}

v1::SaveFailure Failure(std::int64_t step, const std::string& why, std::uint32_t count) {
  v1::SaveFailure failure;
  failure.set_step(step);
  failure.set_why(why);
  failure.set_count(count);
  return failure;
}

TEST(ReportOfASaveThatFailed, IsTakenInShort) {
  std::string umlauts = "x";
  for (int i = 0; i < 2000; ++i) umlauts += "\xc3\xa4";
  const auto tasks = ReportToTasks(ReportWith(Failure(39, umlauts, 3)));
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  const core::SaveFailure& kept = tasks->at(0).ranks.at(0).save_failure;
  EXPECT_EQ(kept.step, 39);
  EXPECT_EQ(kept.count, 3u);
  EXPECT_EQ(kept.why, umlauts.substr(0, 511)) << "cut at a character's beginning";
}

TEST(ReportOfASaveThatFailed, NoneIsNone) {
  const auto tasks = ReportToTasks(ReportWith({}));
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  EXPECT_EQ(tasks->at(0).ranks.at(0).save_failure, core::SaveFailure());
}

TEST(ReportOfASaveThatFailed, AStepThatCannotBeIsRefused) {
  for (const std::int64_t step : {std::int64_t{-2}, (std::int64_t{1} << 53) + 1}) {
    const auto tasks = ReportToTasks(ReportWith(Failure(step, "full", 1)));
    EXPECT_EQ(tasks.status().field(), "ranks.save_failure.step");
  }
}

// A task says what it likes, and its agent hands that on: its node's report stands.
TEST(ReportOfASave, ThatNobodyCanMakeIsLeftOutAndTheReportStands) {
  v1::NodeReport report = ReportWith({});
  v1::ObservedRank& rank = *report.mutable_tasks(0)->mutable_ranks(0);
  const auto add = [&](std::uint32_t shard, std::uint32_t shards, std::int64_t bytes) {
    v1::Save& save = *rank.add_saves();
    save.set_step(7);
    save.set_path("/s");
    save.set_shard(shard);
    save.set_shards(shards);
    save.set_bytes(bytes);
  };
  add(0, 2'000'000, 1);
  add(0, 0, 1);
  add(3, 3, 1);
  add(0, 1, std::int64_t{1} << 62);
  report.mutable_tasks(0)->set_copied_bytes(std::int64_t{1} << 62);
  const auto tasks = ReportToTasks(report);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  ASSERT_EQ(tasks->at(0).ranks.at(0).saves.size(), 1u);
  EXPECT_EQ(tasks->at(0).ranks.at(0).saves[0].bytes, std::int64_t{1} << 50);
  EXPECT_EQ(tasks->at(0).copied_bytes, std::int64_t{1} << 50);
}

}  // namespace
}  // namespace glim::server
