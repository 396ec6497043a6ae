// What counts as idle while somebody could have had it, and what as the hole of a backfill hold.
#include "scheduler/sim/trace/trace_idle.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/sim/baselines/baseline_planner.h"
#include "scheduler/sim/trace/trace_figures.h"
#include "scheduler/sim/trace/trace_world.h"

namespace glim::sim {
namespace {

using core::testing::Cluster;
using core::testing::JobRow;
using core::testing::Labels;
using core::testing::NodeRow;
using core::testing::Spec;
using core::testing::Zones;

core::Policy Patient() {
  core::Policy policy;
  policy.node_lost_after = Hours(1000);
  policy.starvation_bound = Minutes(5);
  policy.quantum_min = Minutes(10);
  return policy;
}

TEST(Idle, NobodyWaitsOrNothingIsFreeOrNothingFits) {
  Cluster c(Zones{.zones = 2, .nodes = 2}, Patient());
  EXPECT_EQ(IdleIn(c.state()).idleness, Idleness::kNone);
  c.Running(Spec(1));
  c.Running(Spec(1));
  c.Running(Spec(1));
  c.Submit(Spec(2));
  const IdleNow now = IdleIn(c.state());
  EXPECT_EQ(now.idleness, Idleness::kNone) << "two nodes are wanted";
  EXPECT_EQ(now.free, 1u);
}

TEST(Idle, FreeNodesOfTwoZonesAreNotAddedUp) {
  core::ClusterState state;
  state.Put(NodeRow(1, Labels("z1", "l1")));
  state.Put(NodeRow(2, Labels("z2", "l1")));
  state.Put(JobRow(1, Spec(2)));
  EXPECT_EQ(IdleIn(state).idleness, Idleness::kNone);
  EXPECT_EQ(IdleIn(state).free, 2u);
  state.Put(NodeRow(3, Labels("z2", "l1")));
  EXPECT_EQ(IdleIn(state).idleness, Idleness::kFits);
}

TEST(Idle, ClosedGatesAreNotMet) {
  core::ClusterState state;
  state.Put(NodeRow(1));
  const core::Job queued = JobRow(1);
  state.Put(queued);
  const auto judged = [&](core::BlockerKind kind) {
    state.verdicts = std::make_shared<core::Verdicts>(core::Verdicts{{ShapeOf(queued), {{kind, "", 0, 0, {}}}}});
    return IdleIn(state).idleness;
  };
  EXPECT_EQ(judged(core::BlockerKind::kQuota), Idleness::kNone);
  EXPECT_EQ(judged(core::BlockerKind::kBackfillHold), Idleness::kBackfillHold);
  EXPECT_EQ(judged(core::BlockerKind::kNodesBusy), Idleness::kFits);
  core::Job later = queued;
  later.not_before = TimePoint{1'000'000'000};
  state.Put(later);
  EXPECT_EQ(judged(core::BlockerKind::kNodesBusy), Idleness::kNone) << "it is in its backoff";
  core::Job dependent = queued;
  dependent.waits_for.emplace_back().job = core::JobId(7);
  state.Put(dependent);
  EXPECT_EQ(judged(core::BlockerKind::kNodesBusy), Idleness::kNone) << "it waits for another";
}

TEST(Idle, WhatIsKeptForAStarvedJobIsAHole) {
  Cluster c(Zones{.nodes = 2}, Patient());
  c.Running(Spec(1));
  c.Submit(Spec(2));
  c.Advance(Minutes(5));
  EXPECT_EQ(IdleIn(c.state()).idleness, Idleness::kNone) << "the starved one does not fit";
  c.Submit(Spec(1));
  EXPECT_EQ(IdleIn(c.state()).idleness, Idleness::kBackfillHold);
}

// Free node-time counts until the last submission, by what was seen at its beginning.
TEST(Idle, TheMeterBooksWhatItSawUntilTheEnd) {
  Cluster c(Zones{.nodes = 3}, Patient(), core::PlannerOf(core::PlannerKind::kFifo));
  IdleMeter meter;
  const TimePoint begin = c.now();
  meter.Look(c.state(), begin, begin + Seconds(100));
  c.Submit(Spec(1));
  c.Submit(Spec(3));
  c.Submit(Spec(1));
  meter.Look(c.state(), begin + Seconds(10), begin + Seconds(100));
  EXPECT_EQ(meter.fit_node_ms(), 0) << "nobody waited until then";
  meter.Look(c.state(), begin + Seconds(30), begin + Seconds(100));
  EXPECT_EQ(meter.fit_node_ms(), 2 * 20'000);
  meter.Look(c.state(), begin + Seconds(500), begin + Seconds(100));
  EXPECT_EQ(meter.fit_node_ms(), 2 * 90'000);
  EXPECT_EQ(meter.backfill_hold_node_ms(), 0);
}

TraceJob Row(const char* name, Duration submit, Duration duration, std::uint32_t nodes) {
  TraceJob job;
  job.name = name;
  job.user = "ann";
  job.submit = submit;
  job.duration = duration;
  job.nodes = nodes;
  return job;
}

TEST(Idle, ATraceSaysItInShares) {
  TraceOptions options;
  options.nodes = 2;
  const std::vector<TraceJob> trace = {
      Row("first", Seconds(0), Seconds(1000), 1), Row("head", Seconds(1), Seconds(500), 2),
      Row("long", Seconds(100), Seconds(5000), 1), Row("last", Seconds(500), Seconds(10), 1)};
  options.planner = core::PlannerKind::kFifo;
  const TraceOutcome fifo = TraceWorld(options, trace).Run();
  EXPECT_EQ(fifo.violations, 0u);
  const auto json = FiguresOf(fifo, options.nodes, -1);
  EXPECT_NEAR(json["idle_while_fit_fraction"], 400.0 / 1000, 1e-6) << "one of two nodes, from 100 s to 500 s";
  EXPECT_EQ(json["backfill_hold_idle_fraction"], 0);
  options.policy = Patient();
  const auto ours = FiguresOf(TraceWorld(options, trace).Run(), options.nodes, -1);
  EXPECT_EQ(ours["idle_while_fit_fraction"], 0);
}

}  // namespace
}  // namespace glim::sim
