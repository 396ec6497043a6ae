// A pass refuses nobody who fits: over random clusters, what refuses most of a queue unseen changes no decision.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "scheduler/core/model/node_users.h"
#include "scheduler/core/model/policy_keys.h"
#include "scheduler/core/model/task_user.h"
#include "scheduler/core/planning/planner.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"
#include "sdk/base/rng.h"
#include "sdk/base/testing/seeds.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Patient;
using testing::Spec;
using testing::Zones;

// Nobody is given a node that runs none of its user's jobs, free or by an interrupt, a move or a claim.
void ExpectOpenNodes(const ClusterState& state, const Plan& plan) {
  for (const PlannedStart& start : plan.starts) {
    const auto uid = UidOf(state.accounts(), state.FindJob(start.job)->user);
    for (const NodeId node : start.nodes) {
      EXPECT_TRUE(Takes(RuleOf(*state.FindNode(node)), uid)) << "job " << start.job.value << " on node " << node.value;
    }
  }
}

// Whoever reads along, and whatever is asked anew for them, the plan is the same.
void ExpectTracingChangesNothing(const ClusterState& state, const Policy& policy, TimePoint now, const Plan& plan) {
  for (const auto& [shape, queue] : state.index().queue) {
    PassTrace trace(*state.FindJob(std::prev(queue.end())->id));
    const Plan traced = MakePlanTracing(state, policy, now, &trace);
    EXPECT_EQ(traced.starts, plan.starts);
    EXPECT_EQ(traced.look_again, plan.look_again);
    return;  // one of them a pass: a trace is as dear as a pass
  }
}

// Every pass of a cluster's life is made both ways.
Plan PlanBothWays(const ClusterState& state, const Policy& policy, TimePoint now) {
  Plan with = MakePlan(state, policy, now);
  const Plan without = MakePlanAskingEverybody(state, policy, now);
  EXPECT_EQ(with.starts, without.starts) << "a job that fits was refused unseen";
  EXPECT_EQ(with.verdicts->size(), without.verdicts->size());
  ExpectTracingChangesNothing(state, policy, now, with);
  ExpectOpenNodes(state, with);
  return with;
}

// Several teams, classes, sizes, limits and kinds of nodes; holds, moves, claims, starved jobs, borrowed ones.
class RandomCluster {
 public:
  explicit RandomCluster(std::uint64_t seed)
      : rng_(seed),
        c_(Zones{.zones = static_cast<int>(rng_.Between(1, 3)),
                 .leaves = 1,
                 .nodes = static_cast<int>(rng_.Between(2, 5))},
           MakePolicy(rng_), PlanBothWays) {
    for (int i = 0; i < 2; ++i) {
      NodeLabels labels = testing::Labels("z1", "z1-l1", 4);
      labels.gpu_type = "h100";
      c_.AddNode(labels);
    }
    if (rng_.OneIn(2)) DrawUsers();
  }

  // Some time of it.
  void Live() {
    for (int turn = 0; turn < 25 && !::testing::Test::HasFailure(); ++turn) {
      std::vector<JobSpec> specs;
      for (std::int64_t i = rng_.Between(1, 8); i > 0; --i) specs.push_back(AnySpec());
      const std::string team = "t" + std::to_string(rng_.Between(1, 3));
      c_.Do(SubmitJobs{team, team, "", specs, false});
      if (rng_.OneIn(3)) c_.Settle();
      c_.Advance(Seconds(rng_.Between(1, 45)));
      if (rng_.OneIn(2)) c_.Settle();
      if (rng_.OneIn(4)) c_.Advance(Minutes(rng_.Between(1, 20)));
    }
  }

 private:
  // Some users have uids, and some nodes ask for them.
  void DrawUsers() {
    for (std::uint32_t n = 2; n < c_.state().next_node_id.value; ++n) {
      if (rng_.OneIn(4)) c_.SetRule(NodeId(n), {1001, false});
      if (rng_.OneIn(4)) c_.SetRule(NodeId(n), {std::nullopt, true});
    }
    for (std::uint32_t t = 1; t <= 2; ++t) {
      User user{"t" + std::to_string(t)};
      user.uid = user.gid = 1000 + t;
      c_.SetUser(std::move(user));
    }
  }

  static Policy MakePolicy(Rng& rng) {
    Policy policy = Patient();
    DrawPolicy(policy, [&](const PolicyKey& key) { return rng.Between(key.draw_low, key.draw_high); });
    policy.oversleep_max = Hours(1);
    policy.release_max = Hours(10);
    policy.start_max = Hours(10);
    if (rng.OneIn(2)) policy.default_user_quota.nodes = {{PriorityClass::kNormal, 3}};
    if (rng.OneIn(2)) policy.team_weight = {{"t1", 50}, {"t2", 400}};
    return policy;
  }

  JobSpec AnySpec() {
    constexpr PriorityClass kClasses[] = {PriorityClass::kLow, PriorityClass::kNormal, PriorityClass::kNormal,
                                          PriorityClass::kHigh, PriorityClass::kAuto};
    JobSpec spec = Spec(static_cast<std::uint32_t>(rng_.Between(1, 4)), kClasses[rng_.Between(0, 4)]);
    if (rng_.OneIn(3)) spec.gpus_per_node = 4;
    if (rng_.OneIn(8)) spec.placement.gpu_type = "h100", spec.nodes = 1, spec.gpus_per_node = 4;
    if (rng_.OneIn(3)) spec.time_limit = Minutes(rng_.Between(1, 12));
    if (rng_.OneIn(6)) spec.placement.cross_zone = CrossZone::kNever;
    spec.grace = spec.max_grace = Hours(1);
    return c_.Do(SubmitJobs{"ann", "t1", "", {spec}, true}).status.ok() ? spec : Spec(1);
  }

  Rng rng_;
  Cluster c_;
};

class Shortcuts : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Shortcuts, DecideWhatAskingEverybodyDecides) { RandomCluster(GetParam()).Live(); }

INSTANTIATE_TEST_SUITE_P(Seeds, Shortcuts, ::testing::Range<std::uint64_t>(1, SeedsOf(200, 20)));

}  // namespace
}  // namespace glim::core
