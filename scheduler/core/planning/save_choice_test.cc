// Waiting for the node that has a large save, weighed against copying it.
#include "scheduler/core/planning/save_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// A job of one node is held, with a save of `bytes` on n1. There `other` has begun, which is left alone for a while; n2
// is free.
struct Held {
  explicit Held(std::int64_t bytes, Policy policy = testing::Patient()) : c(Zones{.nodes = 2}, policy) {
    job = c.Running(Spec(1));
    c.script(job).saves = false;
    c.Edit(job, 0, [&](ObservedTask& task) {
      task.ranks[0].saves.push_back({40, "/own/40", bytes, 0, 1, {}, "40"});
      task.ranks[0].step = 40;
    });
    c.Suspend(job);
    c.Settle();
    other = c.Submit(Spec(1, PriorityClass::kLow), "eve");
    c.Settle();
    EXPECT_EQ(c.job(job).durable.bytes, bytes);
    EXPECT_THAT(c.attempt(other).nodes, ElementsAre(NodeId{1}));
  }
  Cluster c;
  JobId job, other;
};

// The other is left alone for 100 s.
Policy LongFirstRun() {
  Policy policy = testing::Patient();
  policy.min_run_factor = 100;
  return policy;
}

TEST(PlannerSave, ASmallSaveIsCopiedAtOnce) {
  Held h(kGiB / 2, LongFirstRun());
  h.c.Resume(h.job);
  EXPECT_THAT(h.c.attempt(h.job).nodes, ElementsAre(NodeId{2}));
}

TEST(PlannerSave, ALargeOneIsWaitedForWhereThatIsSooner) {
  Held h(1024 * kGiB, LongFirstRun());  // 2,048 GiB at 200 MB/s are three hours
  h.c.Resume(h.job);
  ASSERT_EQ(h.c.job(h.job).state, JobState::kQueued);
  const std::vector<Blocker> blockers = h.c.Blockers(h.job);
  ASSERT_EQ(blockers.size(), 1u);
  EXPECT_EQ(blockers[0].kind, BlockerKind::kCheckpointOn);
  EXPECT_THAT(blockers[0].message, HasSubstr("lies on node n1, which it can have in"));
  EXPECT_THAT(blockers[0].jobs, ElementsAre(h.other));
  // And then it has that node.
  h.c.Advance(Minutes(2));
  h.c.Settle();
  EXPECT_THAT(h.c.attempt(h.job).nodes, ElementsAre(NodeId{1}));
}

TEST(PlannerSave, AMeasuredRateDecides) {
  Held h(1024 * kGiB, LongFirstRun());
  Node fast = h.c.node(NodeId{2});
  fast.copy_bytes_per_s = 1'000'000'000'000;
  ClusterState measured = ClusterState::Of(h.c.state().tables());
  measured.Put(fast);
  Job queued = h.c.job(h.job);
  queued.state = JobState::kQueued;
  measured.Put(queued);
  const Plan plan = MakePlan(measured, h.c.policy(), h.c.now());
  ASSERT_EQ(plan.starts.size(), 1u);
  EXPECT_THAT(plan.starts[0].nodes, ElementsAre(NodeId{2}));
}

TEST(PlannerSave, ACopyIsMeasuredByTheNodeThatMadeIt) {
  Held h(kGiB / 2, LongFirstRun());
  h.c.script(h.job).runs = false;
  h.c.Resume(h.job);
  h.c.Settle();
  h.c.Edit(h.job, 0, [](ObservedTask& task) {
    task.copied_bytes = kGiB / 2;
    task.copy_time = Seconds(2);
  });
  EXPECT_EQ(h.c.node(NodeId{2}).copy_bytes_per_s, kGiB / 2 / 2000 * 1000);
}

TEST(PlannerSave, WhereItsNodeIsFreeItGoesThere) {
  Held h(1024 * kGiB);
  h.c.Cancel(h.other, "eve");
  h.c.Settle();
  h.c.Resume(h.job);
  EXPECT_THAT(h.c.attempt(h.job).nodes, ElementsAre(NodeId{1}));
}

TEST(PlannerSave, OthersOfItsKindAreNotRefusedWithIt) {
  Held h(1024 * kGiB, LongFirstRun());
  h.c.Resume(h.job);
  const JobId plain = h.c.Submit(Spec(1));
  h.c.Settle();
  EXPECT_EQ(h.c.job(plain).state, JobState::kRunning);
  EXPECT_EQ(h.c.job(h.job).state, JobState::kQueued);
}

}  // namespace
}  // namespace glim::core
