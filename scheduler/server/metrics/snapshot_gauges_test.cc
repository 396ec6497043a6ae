// What a scrape counts from a snapshot: bounded by pools, states and reasons, and counters that never fall.
#include "scheduler/server/metrics/snapshot_gauges.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/server/convert/row_convert.h"

namespace glim::server {
namespace {

using core::JobId;
using core::PriorityClass;
using core::Use;
using core::testing::Cluster;
using core::testing::Spec;
using core::testing::Zones;

Snapshot SnapshotOf(Cluster& c) {
  Snapshot snapshot;
  snapshot.tables = c.state().tables();
  snapshot.verdicts = c.state().verdicts;
  snapshot.policy = std::make_shared<core::Policy>(c.policy());
  snapshot.counts = std::make_shared<const core::StateCounts>(c.state().index().counts);
  snapshot.liveness = std::make_shared<const LivenessMap>(c.state().liveness);
  return snapshot;
}

// {"name{label=value,...}": value} of what a part adds.
std::map<std::string, double> Series(const Families& families) {
  std::map<std::string, double> series;
  for (const auto& family : families) {
    for (const auto& metric : family.metric) {
      std::string name = family.name;
      for (const auto& label : metric.label) name += " " + label.name + "=" + label.value;
      series[name] = family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value;
    }
  }
  return series;
}

std::map<std::string, double> JobSeries(Cluster& c) {
  Families families;
  AddJobFigures(SnapshotOf(c), c.now(), &families);
  return Series(families);
}

std::map<std::string, double> NodeSeries(Cluster& c) {
  Families families;
  AddNodeFigures(SnapshotOf(c), c.now(), &families);
  return Series(families);
}

TEST(JobFigures, SayWhyQueuedJobsWait) {
  Cluster c(Zones{.nodes = 2});
  c.Running(Spec(2, PriorityClass::kHigh));
  c.Submit(Spec(1));
  c.Submit(Spec(1));
  const auto series = JobSeries(c);
  EXPECT_EQ(series.at("glim_jobs pool=default state=queued"), 2);
  double pending = 0;
  for (const auto& [name, value] : series) pending += name.starts_with("glim_pending_jobs ") ? value : 0;
  EXPECT_EQ(pending, 2) << "each queued job has one main reason";
}

// The metric and what people are told are one.
TEST(JobFigures, TheMainReasonIsTheFirstThatPeopleAreTold) {
  Cluster c(Zones{.nodes = 2});
  const JobId victim = c.Running(Spec(2, PriorityClass::kLow));
  const JobId claims = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  const JobId waits = c.Submit(Spec(1));
  core::JobSpec after = Spec(1);
  after.after = {{victim, core::DependencyKind::kOk}};
  const JobId depends = c.Submit(after);
  const Snapshot snapshot = SnapshotOf(c);
  for (const JobId job : {claims, waits, depends}) {
    const auto told = BlockersOf(snapshot, c.job(job), c.now());
    ASSERT_FALSE(told.empty());
    EXPECT_EQ(MainReasonOf(snapshot, c.job(job), c.now()), told.front().kind);
  }
}

TEST(JobFigures, TheAgeOfACheckpointBeginsAnewWithEachSave) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Running(Spec(1));
  c.Advance(Seconds(100));
  EXPECT_GE(JobSeries(c).at("glim_checkpoint_age_seconds stat=max"), 100);
  c.Step(job, 10);
  c.Save(job, 10);
  EXPECT_LT(JobSeries(c).at("glim_checkpoint_age_seconds stat=max"), 10);
}

TEST(JobFigures, CountWhoLeavesItsGpusIdle) {
  Cluster c(Zones{.nodes = 3});
  const JobId job = c.Running(Spec(2));
  c.Running(Spec(1));
  EXPECT_EQ(JobSeries(c).at("glim_attempts_gpus_idle"), 0);
  c.EditAll(job, [](core::ObservedTask& task) { task.gpu_busy_at = TimePoint{1}; });
  c.Advance(Hours(1));
  EXPECT_EQ(JobSeries(c).at("glim_attempts_gpus_idle"), 1);
}

TEST(JobFigures, CountWhoseNewestSaveFailed) {
  Cluster c(Zones{.nodes = 3});
  const JobId job = c.Running(Spec(2));
  c.Running(Spec(1));
  EXPECT_EQ(JobSeries(c).at("glim_attempts_saves_failing"), 0);
  c.EditAll(job, [](core::ObservedTask& task) { task.ranks[0].save_failure = {.step = 9, .why = "full", .count = 1}; });
  EXPECT_EQ(JobSeries(c).at("glim_attempts_saves_failing"), 1);
  c.EditAll(job, [](core::ObservedTask& task) { task.ranks[0].save_failure = {}; });
  EXPECT_EQ(JobSeries(c).at("glim_attempts_saves_failing"), 0);
}

TEST(JobFigures, HaveNoAgesWhereNothingRuns) {
  Cluster c;
  EXPECT_FALSE(JobSeries(c).contains("glim_checkpoint_age_seconds stat=max"));
}

TEST(NodeFigures, NameTheMainReasonWhyNoJobStarts) {
  Cluster c(Zones{.nodes = 3});
  EXPECT_EQ(NodeSeries(c).at("glim_nodes zone=z1 state=ready"), 3);
  EXPECT_EQ(NodeSeries(c).at("glim_agents_connected"), 3);
  c.Silence(core::NodeId(1), true);
  c.Advance(Minutes(3));
  const auto series = NodeSeries(c);
  EXPECT_EQ(series.at("glim_nodes_out reason=lost"), 1);
  EXPECT_EQ(series.at("glim_agents_connected"), 2);
  EXPECT_LT(series.at("glim_node_heartbeat_age_seconds stat=max"), 60) << "lost ones are not among them";
}

// Nobody is to be woken for it.
TEST(NodeFigures, ANodeThatAnOperatorHasSwitchedOffIsNotLost) {
  Cluster c(Zones{.nodes = 3});
  c.Do(core::CordonNode{"n1", "ann", "a new fan", {}, true});
  c.Silence(core::NodeId(1), true);
  EXPECT_EQ(NodeSeries(c).at("glim_nodes_out reason=drained"), 1) << "silent";
  c.Advance(Minutes(3));
  EXPECT_EQ(NodeSeries(c).at("glim_nodes_out reason=drained"), 1) << "lost";
  EXPECT_FALSE(NodeSeries(c).contains("glim_nodes_out reason=lost"));
}

TEST(NodeFigures, CountTheUnreliableOnes) {
  Cluster c(Zones{.nodes = 3});
  EXPECT_EQ(NodeSeries(c).at("glim_nodes_unreliable"), 0);
  core::Node node = c.node(core::NodeId(1));
  node.failures = {{c.now(), "network", "", JobId(1)}};
  node.lemon = true;
  c.state().Put(node);
  EXPECT_EQ(NodeSeries(c).at("glim_nodes_unreliable"), 1);
}

TEST(NodeFigures, CountWhoWaitsToBeMeasuredAndWhoIsOverdue) {
  core::Policy policy;
  policy.health.validate.on_join = true;
  Cluster joining(Zones{.nodes = 2}, policy);
  EXPECT_EQ(NodeSeries(joining).at("glim_nodes_out reason=unmeasured"), 2);
  EXPECT_EQ(NodeSeries(joining).at("glim_nodes_validation_overdue"), 0);
  policy.health.validate = {.every = Hours(24)};
  Cluster overdue(Zones{.nodes = 2}, policy);
  overdue.Do(core::TimePassed{});
  EXPECT_EQ(NodeSeries(overdue).at("glim_nodes_validation_overdue"), 2);
}

TEST(NodeFigures, WhatIsAtRiskGrowsUntilTheNextSave) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Running(Spec(1));
  c.Step(job, 1);
  c.Advance(Seconds(100));
  EXPECT_GE(NodeSeries(c).at("glim_at_risk_gpu_seconds"), 8 * 100);
  c.Save(job, 1);
  EXPECT_EQ(NodeSeries(c).at("glim_at_risk_gpu_seconds"), 0);
}

TEST(GpuFigures, TimeThatIsLostLaterStaysCountedAsProductive) {
  Cluster c(Zones{.nodes = 1});
  const JobId job = c.Running(Spec(1));
  c.Step(job, 1);
  c.Advance(Seconds(100));
  const auto productive = static_cast<std::size_t>(Use::kProductive);
  const core::UseTotals before = GrossUses(SnapshotOf(c), c.now());
  c.Exit(job, 0, 1);
  const core::UseTotals after = GrossUses(SnapshotOf(c), c.now());
  EXPECT_GT(after[static_cast<std::size_t>(Use::kLost)], 0);
  EXPECT_GE(after[productive], before[productive]);
}

TEST(RisingTotals, BeginAtNothingAndNeverFall) {
  core::UseTotals ledger{};
  ledger[0] = 1'000'000;  // of years before
  RisingTotals totals(ledger);
  EXPECT_EQ(totals.Follow(ledger)[0], 0);
  ledger[0] += 500;
  EXPECT_EQ(totals.Follow(ledger)[0], 500);
  ledger[0] -= 400'000;  // a node was removed
  EXPECT_EQ(totals.Follow(ledger)[0], 500);
  ledger[0] += 70;
  EXPECT_EQ(totals.Follow(ledger)[0], 570);
}

TEST(Spread, IsThreeNumbersOfAnyMany) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) values.push_back(i);
  const auto family = SpreadFamily("glim_x_seconds", "x", values);
  ASSERT_EQ(family.metric.size(), 3u);
  EXPECT_EQ(family.metric[0].gauge.value, 50);
  EXPECT_EQ(family.metric[1].gauge.value, 90);
  EXPECT_EQ(family.metric[2].gauge.value, 100);
  EXPECT_TRUE(SpreadFamily("glim_x_seconds", "x", {}).metric.empty());
  EXPECT_EQ(SpreadFamily("glim_x_seconds", "x", {7}).metric[0].gauge.value, 7);
}

}  // namespace
}  // namespace glim::server
