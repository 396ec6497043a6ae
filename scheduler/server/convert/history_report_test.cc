#include "scheduler/server/convert/history_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sdk/base/rng.h"

namespace glim::server {
namespace {

constexpr TimePoint kReportNow{1'000'000};

struct Ended {
  std::uint64_t id = 1;
  std::string pool = "a100", team = "nlp", user = "ann", state = "succeeded", outcome = "succeeded";
  std::int32_t exit_code = 0;
  std::int64_t submitted = 100, started = 200, ended = 500;
  std::int64_t productive = 3'600'000, lost = 0;
};

store::EndedFigures FiguresOf(const Ended& job) {
  store::EndedFigures out;
  out.id = core::JobId(job.id);
  out.submitted_at = TimePoint{job.submitted};
  out.started_at = TimePoint{job.started};
  out.ended_at = TimePoint{job.ended};
  out.ledger[static_cast<std::size_t>(core::Use::kProductive)] = job.productive;
  out.ledger[static_cast<std::size_t>(core::Use::kLost)] = job.lost;
  out.pool = job.pool;
  out.team = job.team;
  out.user = job.user;
  out.priority = "normal";
  out.state = job.state;
  out.outcome = job.outcome;
  out.exit_code = job.exit_code;
  out.name = "train";
  return out;
}

v1::GetHistoryReportResponse ReportOf(const v1::GetHistoryReportRequest& request, const std::vector<Ended>& jobs,
                                      const core::Price& price = {}) {
  auto report = HistoryReport::For(request, price, kReportNow);
  EXPECT_TRUE(report.ok()) << report.status().message();
  for (const Ended& job : jobs) report->Add(FiguresOf(job));
  v1::GetHistoryReportResponse response;
  report->WriteTo(&response);
  return response;
}

TEST(HistoryReport, SumsAreByWhatWasAskedAndTheTotalIsTheirSum) {
  const std::vector<Ended> jobs = {
      {.id = 1, .productive = 10, .lost = 5},
      {.id = 2,
       .pool = "h100",
       .user = "bob",
       .state = "failed",
       .outcome = "failed",
       .exit_code = 3,
       .productive = 70},
      {.id = 3, .team = "", .user = "gone", .state = "failed", .outcome = "node_failure", .productive = 1},
      {.id = 4, .state = "cancelled", .outcome = "", .started = 0, .productive = 0},
      {.id = 5, .state = "failed", .outcome = "", .started = 0, .productive = 0}};
  const auto by_pool = ReportOf({}, jobs);
  EXPECT_EQ(by_pool.by(), "pool");
  ASSERT_EQ(by_pool.rows_size(), 2);
  EXPECT_EQ(by_pool.rows(0).name(), "h100") << "by GPU-time";
  EXPECT_EQ(by_pool.rows(1).jobs(), 4u);
  EXPECT_EQ(by_pool.rows(1).gpu_ms(), 16);
  EXPECT_EQ(by_pool.rows(1).productive_gpu_ms(), 11);
  EXPECT_EQ(by_pool.rows(1).lost_gpu_ms(), 5);
  EXPECT_EQ(by_pool.total().gpu_ms(), 86);
  EXPECT_EQ(by_pool.total().succeeded() + by_pool.total().failed() + by_pool.total().cancelled(), 5u);
  EXPECT_EQ(by_pool.total().failures().at("exit 3"), 1u);
  EXPECT_EQ(by_pool.total().failures().at("node_failure"), 1u);
  EXPECT_EQ(by_pool.total().failures().at("never_started"), 1u);
  EXPECT_EQ(by_pool.until_ms(), kReportNow.ms);
  EXPECT_EQ(by_pool.since_ms(), 500) << "the oldest that is in it";
  EXPECT_EQ(by_pool.price_unit(), "");
  v1::GetHistoryReportRequest request;
  for (const auto& [by, rows] : {std::pair("team", 2), {"user", 3}, {"class", 1}, {"job", 5}}) {
    request.set_by(by);
    const auto report = ReportOf(request, jobs);
    EXPECT_EQ(report.rows_size(), rows) << by;
    EXPECT_EQ(report.total().gpu_ms(), 86) << by;
  }
  EXPECT_EQ(ReportOf(request, jobs).rows(0).job_name(), "train");
  EXPECT_EQ(ReportOf(request, jobs).rows(0).user(), "bob");
  request.set_by("user");
  request.set_pool("a100");
  request.set_team("nlp");
  EXPECT_EQ(ReportOf(request, jobs).total().jobs(), 3u);
}

TEST(HistoryReport, PercentilesAreExactAndOfThoseThatStarted) {
  Rng rng(5);
  std::vector<Ended> jobs;
  std::vector<std::int64_t> waits;
  for (std::uint64_t id = 1; id <= 997; ++id) {
    const std::int64_t wait = rng.Between(0, 1'000'000);
    waits.push_back(wait);
    jobs.push_back({.id = id, .submitted = 5, .started = 5 + wait, .ended = 5 + wait + 10});
  }
  jobs.push_back({.id = 9'999, .state = "cancelled", .submitted = 1, .started = 0, .ended = 1'000'000'000});
  std::sort(waits.begin(), waits.end());
  const auto spread = ReportOf({}, jobs).total().wait();
  EXPECT_EQ(spread.p50_ms(), waits[498]);
  EXPECT_EQ(spread.p90_ms(), waits[897]);
  EXPECT_EQ(spread.p99_ms(), waits[987]);
  EXPECT_EQ(spread.max_ms(), waits.back());
  EXPECT_EQ(ReportOf({}, jobs).total().run().p99_ms(), 10);
  EXPECT_FALSE(ReportOf({}, {}).total().wait().max_ms()) << "of nobody";
}

TEST(HistoryReport, AThousandRowsAndThenWhatCompletesTheSum) {
  for (const char* by : {"job", "user"}) {
    Rng rng(6);
    std::vector<Ended> jobs;
    std::int64_t all = 0;
    for (std::uint64_t id = 1; id <= 3'000; ++id) {
      jobs.push_back({.id = id, .user = "u" + std::to_string(id), .productive = rng.Between(1, 100'000)});
      all += jobs.back().productive;
    }
    v1::GetHistoryReportRequest request;
    request.set_by(by);
    const auto report = ReportOf(request, jobs);
    ASSERT_EQ(report.rows_size(), 1001) << by;
    std::sort(jobs.begin(), jobs.end(), [](const Ended& a, const Ended& b) { return a.productive > b.productive; });
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(report.rows(i).gpu_ms(), jobs[static_cast<std::size_t>(i)].productive);
    EXPECT_EQ(report.rows(1000).name(), kOthersRow);
    EXPECT_EQ(report.rows(1000).jobs(), 2'000u);
    EXPECT_EQ(report.total().gpu_ms(), all);
    EXPECT_EQ(report.total().jobs(), 3'000u);
  }
}

TEST(HistoryReport, APriceIsReckonedByPool) {
  const core::Price price{"credits", 1'000, {{"a100", 2'500}}};
  const auto report = ReportOf({}, {{.id = 1, .productive = 7'200'000}, {.id = 2, .pool = "cheap"}}, price);
  EXPECT_EQ(report.price_unit(), "credits");
  EXPECT_DOUBLE_EQ(report.rows(0).price(), 5.0);
  EXPECT_DOUBLE_EQ(report.rows(1).price(), 1.0);
  EXPECT_DOUBLE_EQ(report.total().price(), 6.0);
}

TEST(HistoryReport, WhatCannotBeReportedIsRefused) {
  v1::GetHistoryReportRequest request;
  request.set_by("pol");
  const Status by = HistoryReport::For(request, {}, kReportNow).status();
  EXPECT_EQ(by.field(), "by");
  EXPECT_EQ(by.fix(), "did you mean 'pool'? use pool, team, user, class or job");
  request = {};
  request.set_since_ms(-1);
  EXPECT_EQ(HistoryReport::For(request, {}, kReportNow).status().field(), "since_ms");
  request.set_since_ms(kReportNow.ms);
  EXPECT_EQ(HistoryReport::For(request, {}, kReportNow).status().field(), "until_ms");
}

}  // namespace
}  // namespace glim::server
