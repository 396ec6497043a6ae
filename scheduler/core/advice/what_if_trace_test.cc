// A trace tells what was really tried, and changes no decision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "scheduler/core/advice/what_if.h"
#include "scheduler/core/planning/planner.h"
#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

WhatIf::Traced Trace(Cluster& c, JobId job) {
  return WhatIf(ClusterState::Of(c.state().tables()), c.policy(), c.now()).Trace(job);
}

// The steps of a stage, a line each.
std::string Told(const WhatIf::Traced& traced, TraceStage stage) {
  std::string text;
  for (const TraceStep& step : traced.steps) {
    if (step.stage == stage) text += step.message + "\n";
  }
  return text;
}

JobSpec At(std::uint32_t nodes, PriorityClass priority) {
  return SpecWith(nodes, [&](JobSpec& spec) { spec.priority = priority; });
}

// Nodes: z1 has n1, n2; z2 has n3, n4.
TEST(TraceJob, NamesEachPlaceWhoKeepsItAndWhatWouldHelp) {
  Cluster c(Zones{.zones = 2, .nodes = 2});
  const JobId high = c.Running(At(2, PriorityClass::kExtremeHigh));
  const JobId alike = c.Running(Spec(1));
  const JobId job = c.Submit(Spec(2));
  ASSERT_EQ(c.job(job).state, JobState::kQueued);
  const WhatIf::Traced traced = Trace(c, job);
  EXPECT_FALSE(traced.starts);
  EXPECT_EQ(traced.steps.front().stage, TraceStage::kOrder);
  EXPECT_THAT(Told(traced, TraceStage::kOrder), HasSubstr("nobody in pool default comes before it"));
  EXPECT_THAT(Told(traced, TraceStage::kOrder), HasSubstr("turn 1 of this pass, in class normal"));
  EXPECT_THAT(Told(traced, TraceStage::kQuota), HasSubstr("no quota bounds it"));
  const std::string places = Told(traced, TraceStage::kPlacement);
  EXPECT_THAT(places, HasSubstr("zone z1: 2 nodes fit, 0 free; 2 needed: 2 short without an interrupt"));
  EXPECT_THAT(places, HasSubstr("zone z2: 2 nodes fit, 1 free"));
  const std::string kept = Told(traced, TraceStage::kPreemption);
  EXPECT_THAT(kept, HasSubstr("job " + std::to_string(high.value) +
                              " (extreme_high, 2 nodes that fit) keeps them: it is of a higher class"));
  EXPECT_THAT(kept, HasSubstr("job " + std::to_string(alike.value) + " (normal, 1 node that fit) keeps them: it"));
  EXPECT_THAT(kept, HasSubstr("zone z1: 0 nodes with everybody interrupted who makes room, 2 needed"));
  EXPECT_THAT(Told(traced, TraceStage::kCrossing), HasSubstr("it may not span two zones"));
  EXPECT_THAT(Told(traced, TraceStage::kMove), HasSubstr("1 free in all zones"));
  EXPECT_THAT(Told(traced, TraceStage::kHold), HasSubstr("too few nodes come free for it"));
  EXPECT_THAT(Told(traced, TraceStage::kVerdict), HasSubstr("waits, nodes_busy: 1 node free in zone z2, 2 needed"));
  EXPECT_THAT(Told(traced, TraceStage::kOtherwise), HasSubstr("with 1 node it starts now"));
}

TEST(TraceJob, TellsTheVictimsThatWereWeighed) {
  Cluster c(Zones{.zones = 2, .nodes = 2});
  c.Running(At(2, PriorityClass::kLow));
  c.Running(At(2, PriorityClass::kLow));
  // As the pass that starts it sees it: the job is put into the queue of a copy.
  ClusterState state = ClusterState::Of(c.state().tables());
  Job job;
  job.id = state.next_job_id;
  job.user = "ann";
  job.spec = std::make_shared<const JobSpec>(At(2, PriorityClass::kHigh));
  job.priority = PriorityClass::kHigh;
  job.submitted_at = job.queued_at = c.now();
  state.Put(job);
  const WhatIf::Traced traced = WhatIf(state, c.policy(), c.now()).Trace(job.id);
  EXPECT_TRUE(traced.starts);
  const std::string tried = Told(traced, TraceStage::kPreemption);
  EXPECT_THAT(tried, HasSubstr("zone z1: would do with 1 interrupted: job 1 (low, 2 nodes, "));
  EXPECT_THAT(tried, HasSubstr("zone z2: would do with 1 interrupted: job 2 (low, 2 nodes, "));
  EXPECT_THAT(tried, HasSubstr("the cheapest of these"));
  EXPECT_THAT(Told(traced, TraceStage::kVerdict),
              HasSubstr("starts on 2 nodes in class high, when interrupted has job "));
  EXPECT_EQ(Told(traced, TraceStage::kOtherwise), "") << "it starts as it is";
  EXPECT_EQ(traced.steps.back().nodes.size(), 2u);
}

TEST(TraceJob, WhoHasNoTurnIsToldWhy) {
  Cluster c(Zones{.nodes = 2});
  const JobId first = c.Running(Spec(1));
  const JobId job = c.Submit(SpecWith(1, [&](JobSpec& spec) { spec.after = {{first, DependencyKind::kOk}}; }));
  EXPECT_THAT(Told(Trace(c, job), TraceStage::kVerdict), HasSubstr("waits, dependency: "));
  EXPECT_THAT(Told(Trace(c, job), TraceStage::kOtherwise), HasSubstr("without the jobs that it waits for it starts"));
}

// What is kept, for whom and until when.
TEST(TraceJob, TellsWhatIsKeptAndFromWhenOn) {
  Cluster c(Zones{.nodes = 2});
  const JobId low = c.Submit(At(1, PriorityClass::kLow));
  c.Settle();
  const JobId job = c.Submit(At(2, PriorityClass::kHigh));
  ASSERT_EQ(c.job(job).state, JobState::kQueued) << "job " << low.value << " has just started";
  EXPECT_THAT(Told(Trace(c, job), TraceStage::kPreemption), HasSubstr("its min_run is not over"));
  c.policy().backfill_hold_after = Hours(1);
  EXPECT_THAT(Told(Trace(c, job), TraceStage::kHold), HasSubstr("for less than backfill_hold_after"));
  c.policy().backfill_hold_after = {};
  const WhatIf::Traced traced = Trace(c, job);
  EXPECT_THAT(Told(traced, TraceStage::kHold), HasSubstr("2 nodes are kept for it, which it can have in "));
  EXPECT_THAT(Told(traced, TraceStage::kVerdict), HasSubstr("waits, min_run: "));
}

TEST(TraceJob, TheFirstOfAShapeIsAskedForAll) {
  Cluster c(Zones{.nodes = 1});
  c.Running(At(1, PriorityClass::kExtremeHigh));
  const JobId first = c.Submit(Spec(1));
  const JobId second = c.Submit(Spec(1));
  const WhatIf::Traced traced = Trace(c, second);
  EXPECT_THAT(Told(traced, TraceStage::kOrder),
              HasSubstr("job " + std::to_string(first.value) + " is asked for all jobs of this shape"));
  EXPECT_THAT(Told(traced, TraceStage::kVerdict), HasSubstr("waits, nodes_busy"));
  EXPECT_THAT(traced.steps.front().jobs, Contains(first));
}

TEST(TraceJob, ATraceIsBounded) {
  Job job;
  job.spec = std::make_shared<const JobSpec>();
  PassTrace trace(job);
  for (std::size_t i = 0; i < kTraceStepsMax + 7; ++i) {
    trace.Add(TraceStage::kPlacement, "x", std::vector<NodeId>(kTraceNamedMax + 5));
  }
  EXPECT_EQ(trace.steps().size(), kTraceStepsMax);
  EXPECT_EQ(trace.left_out(), 7u);
  EXPECT_EQ(trace.steps().front().nodes.size(), kTraceNamedMax);
}

}  // namespace
}  // namespace glim::core
