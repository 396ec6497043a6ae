#include "scheduler/server/convert/usage_report.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::server {
namespace {

using core::testing::Cluster;
using core::testing::Spec;
using core::testing::Zones;

v1::GetReportResponse Report(Cluster& c, const std::string& by) {
  auto report = MakeReport(c.state().tables(), by, c.now());
  EXPECT_TRUE(report.ok()) << report.status().message();
  return report.ok() ? *report : v1::GetReportResponse();
}

std::int64_t SumOf(const v1::Uses& u) {
  return u.free_gpu_ms() + u.claimed_gpu_ms() + u.unavailable_gpu_ms() + u.starting_gpu_ms() + u.restoring_gpu_ms() +
         u.productive_gpu_ms() + u.stopping_gpu_ms() + u.lost_gpu_ms();
}

// By whatever it is asked: every millisecond of every GPU, once.
void ExpectExact(Cluster& c) {
  for (const char* by : {"", "pool", "team", "user", "job"}) {
    const v1::GetReportResponse report = Report(c, by);
    EXPECT_EQ(report.total_gpu_ms(), report.registered_gpu_ms()) << by;
    std::map<std::string, std::int64_t> columns, total;
    std::int64_t rows = 0;
    for (const v1::ReportRow& row : report.rows()) {
      EXPECT_EQ(row.gpu_ms(), SumOf(row.uses())) << by << " " << row.name();
      rows += row.gpu_ms();
      columns["free"] += row.uses().free_gpu_ms();
      columns["productive"] += row.uses().productive_gpu_ms();
      columns["lost"] += row.uses().lost_gpu_ms();
      columns["starting"] += row.uses().starting_gpu_ms();
    }
    EXPECT_EQ(rows, report.registered_gpu_ms()) << by;
    EXPECT_EQ(SumOf(report.total()), rows) << by;
    EXPECT_EQ(columns["free"], report.total().free_gpu_ms()) << by;
    EXPECT_EQ(columns["productive"], report.total().productive_gpu_ms()) << by;
    EXPECT_EQ(columns["lost"], report.total().lost_gpu_ms()) << by;
    EXPECT_EQ(columns["starting"], report.total().starting_gpu_ms()) << by;
  }
}

const v1::ReportRow* Row(const v1::GetReportResponse& report, const std::string& kind, const std::string& name) {
  for (const v1::ReportRow& row : report.rows()) {
    if (row.kind() == kind && row.name() == name) return &row;
  }
  return nullptr;
}

TEST(UsageReportTest, WhatHasNotBeenBookedYetCounts) {
  Cluster c(Zones{.nodes = 2});
  const core::JobId job = c.Running(Spec(1), "kim");
  const TimePoint began = c.now();
  c.SetNow(began + Seconds(50));
  const v1::GetReportResponse by_job = Report(c, "job");
  const v1::ReportRow* row = Row(by_job, "job", std::to_string(job.value));
  ASSERT_NE(row, nullptr);
  EXPECT_GE(row->uses().productive_gpu_ms(), 50'000 * 8);
  EXPECT_EQ(row->user(), "kim");
  EXPECT_FALSE(row->job_name().empty());
  const core::UseTotals uses = UsesOf(c.state().tables(), c.job(job), c.now());
  EXPECT_EQ(uses[static_cast<std::size_t>(core::Use::kProductive)], row->uses().productive_gpu_ms());
  const v1::ReportRow* nobody = Row(by_job, "no_job", "");
  ASSERT_NE(nobody, nullptr);
  EXPECT_GE(nobody->uses().free_gpu_ms(), 50'000 * 8);
  ExpectExact(c);
}

TEST(UsageReportTest, ItSumsThroughALife) {
  Cluster c(Zones{.zones = 2, .nodes = 2});
  ExpectExact(c);
  const core::JobId low = c.Running(Spec(2, core::PriorityClass::kLow), "kim");
  c.Step(low, 10);
  ExpectExact(c);
  c.Advance(Minutes(30));
  c.Submit(Spec(4, core::PriorityClass::kHigh), "lee");
  ExpectExact(c);
  c.Settle();
  c.Advance(Minutes(1));
  ExpectExact(c);
  const v1::GetReportResponse by_user = Report(c, "user");
  ASSERT_NE(Row(by_user, "user", "kim"), nullptr);
  const v1::GetReportResponse by_team = Report(c, "team");
  EXPECT_NE(Row(by_team, "team", "team"), nullptr);
  c.Silence(core::NodeId(1), true);
  c.Advance(Minutes(5));
  ExpectExact(c);
  EXPECT_GT(Report(c, "pool").total().unavailable_gpu_ms(), 0);
}

TEST(UsageReportTest, JobsThatAreNotKeptAreARow) {
  Cluster c(Zones{.nodes = 1});
  c.policy().finished_jobs_kept = 0;
  const core::JobId first = c.Running(Spec(1), "kim");
  c.Finish(first);
  c.Finish(c.Running(Spec(1), "kim"));
  const core::JobId second = c.Running(Spec(1), "lee");
  ASSERT_EQ(c.state().FindJob(first), nullptr);
  ExpectExact(c);
  const v1::GetReportResponse report = Report(c, "job");
  const v1::ReportRow* forgotten = Row(report, "forgotten", "");
  ASSERT_NE(forgotten, nullptr);
  EXPECT_GT(forgotten->gpu_ms(), 0);
  EXPECT_EQ(forgotten->uses().free_gpu_ms(), 0);
  EXPECT_NE(Row(report, "job", std::to_string(second.value)), nullptr);
}

TEST(UsageReportTest, WhatJobsHadOfRemovedNodesIsInEverySum) {
  Cluster c(Zones{.nodes = 2});
  const core::JobId job = c.Running(Spec(1), "kim");
  c.Advance(Minutes(10));
  const std::string node = c.node(c.attempt(job).nodes.at(0)).name;
  c.Finish(job);
  c.Silence(c.attempt(job).nodes.at(0), true);
  ASSERT_TRUE(c.Do(core::RemoveNode{node, true}).status.ok());
  ExpectExact(c);
  const v1::GetReportResponse by_pool = Report(c, "pool"), by_user = Report(c, "user");
  EXPECT_EQ(by_pool.total_gpu_ms(), by_user.total_gpu_ms());
  EXPECT_EQ(by_pool.total().productive_gpu_ms(), by_user.total().productive_gpu_ms());
  const v1::ReportRow* removed = Row(by_pool, "removed", "");
  ASSERT_NE(removed, nullptr);
  EXPECT_GE(removed->uses().productive_gpu_ms(), Minutes(9).ms * 8);
}

TEST(UsageReportTest, PoolsAndSimulatedGpusAreTold) {
  Cluster c(Zones{.nodes = 1});
  core::NodeLabels labels;
  labels.pool = "h100";
  labels.zone = "z1";
  labels.gpu_count = 4;
  labels.simulated_gpus = true;
  c.AddNode(labels);
  c.Advance(Seconds(10));
  const v1::GetReportResponse report = Report(c, "pool");
  const v1::ReportRow* row = Row(report, "pool", "h100");
  ASSERT_NE(row, nullptr);
  EXPECT_TRUE(row->simulated_gpus());
  EXPECT_TRUE(report.simulated_gpus());
  EXPECT_EQ(row->count(), 1u);
  EXPECT_EQ(row->gpu_ms(), 40'000);
  ExpectExact(c);
}

TEST(UsageReportTest, TheSmallestRowsBecomeOne) {
  Cluster c(Zones{.nodes = 0});
  for (int i = 0; i < 1100; ++i) {
    core::NodeLabels labels;
    labels.pool = "p" + std::to_string(i);
    labels.gpu_count = 1;
    c.Connect("n" + std::to_string(i), labels);
    if (i == 549) c.SetNow(c.now() + Seconds(5));
  }
  c.SetNow(c.now() + Seconds(5));
  const v1::GetReportResponse report = Report(c, "pool");
  ASSERT_EQ(report.rows_size(), 1001);
  EXPECT_EQ(report.rows(0).gpu_ms(), 10'000);
  EXPECT_EQ(report.rows(1000).kind(), "others");
  EXPECT_EQ(report.rows(1000).count(), 100u);
  EXPECT_EQ(report.rows(1000).gpu_ms(), 100 * 5'000);
  EXPECT_EQ(report.total_gpu_ms(), report.registered_gpu_ms());
}

TEST(UsageReportTest, AnUnknownWordIsRefused) {
  Cluster c;
  const auto report = MakeReport(c.state().tables(), "planet", c.now());
  EXPECT_EQ(report.status().field(), "by");
  EXPECT_EQ(report.status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace glim::server
