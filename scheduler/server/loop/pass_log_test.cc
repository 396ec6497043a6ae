// The newest passes in figures.
#include "scheduler/server/loop/pass_log.h"

#include <gtest/gtest.h>

namespace glim::server {
namespace {

TEST(PassLog, TellsTheNewestOnesAndWhatWokeThem) {
  PassLog log;
  EXPECT_EQ(log.Read().passes.count, 0u);
  EXPECT_EQ(log.Read().last_woken_by, "");
  for (int i = 1; i <= 100; ++i) {
    log.AddPass({TimePoint{i * 1000}, i * 10, i % 4 == 0 ? "deadline" : "job submitted", i == 7 ? 3U : 0U});
  }
  log.AddCommit(TimePoint{5}, 700);
  const PassFigures figures = log.Read();
  EXPECT_EQ(figures.passes.count, 100u);
  EXPECT_EQ(figures.passes.last_us, 1000);
  EXPECT_EQ(figures.passes.p50_us, 500);
  EXPECT_EQ(figures.passes.p99_us, 990);
  EXPECT_EQ(figures.passes.max_us, 1000);
  EXPECT_EQ(figures.passes.in, Seconds(99));
  EXPECT_EQ(figures.commits.p50_us, 700);
  EXPECT_EQ(figures.last_pass_at, TimePoint{100'000});
  EXPECT_EQ(figures.last_woken_by, "deadline");
  EXPECT_EQ(figures.starts, 3u);
  ASSERT_EQ(figures.woken_by.size(), 2u);
  EXPECT_EQ(figures.woken_by[0], (std::pair<std::string, std::uint64_t>("job submitted", 75)));
}

TEST(PassLog, ForgetsTheOldest) {
  PassLog log;
  for (std::size_t i = 0; i < kPassesKept + 10; ++i) {
    log.AddPass({TimePoint{static_cast<std::int64_t>(i)}, i < 10 ? 1'000'000 : 1, "deadline", 0});
  }
  const PassFigures figures = log.Read();
  EXPECT_EQ(figures.passes.count, kPassesKept + 10);
  EXPECT_EQ(figures.passes.over, kPassesKept);
  EXPECT_EQ(figures.passes.max_us, 1);
  EXPECT_EQ(figures.passes.in, Milliseconds(kPassesKept - 1));
}

TEST(PassLog, WhatAPersonAskedForStandsInFront) {
  const auto woken = [](std::vector<decltype(core::Event::what)> whats) {
    std::vector<core::Event> batch;
    for (auto& what : whats) batch.push_back({0, {}, std::move(what)});
    return std::string(WokenBy(batch));
  };
  EXPECT_EQ(woken({core::TimePassed{}}), "deadline");
  EXPECT_EQ(woken({core::TimePassed{}, core::NodeReported{}}), "node reported");
  EXPECT_EQ(woken({core::NodeReported{}, core::SubmitJobs{}, core::TimePassed{}}), "job submitted");
  EXPECT_EQ(woken({core::NodeReported{}, core::MoveJob{}}), "operator's change");
}

}  // namespace
}  // namespace glim::server
