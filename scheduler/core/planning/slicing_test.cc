// Time slicing inside a class: who gives way to whom, and when.
#include <gtest/gtest.h>

#include "scheduler/core/planning/job_order.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "scheduler/core/testing/specs.h"
#include "sdk/base/rng.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Patient;
using testing::Spec;
using testing::Zones;

// Less than a grace, so that whoever is asked to leave is seen to answer.
void PassTime(Cluster& c) {
  c.Advance(Seconds(50));
  c.Settle();
}

TEST(IsPreemptedBy, SharesDecideFirstAndScoresMustDifferByTheGain) {
  Policy policy;
  policy.preempt_gain_permille = 2000;
  EXPECT_FALSE(IsPreemptedBy(PreemptGain(policy), {0, 1024}, {0, 0}));
  EXPECT_TRUE(IsPreemptedBy(PreemptGain(policy), {0, 1025}, {0, 0}));
  EXPECT_FALSE(IsPreemptedBy(PreemptGain(policy), {0, 0}, {0, 5000}));
  EXPECT_TRUE(IsPreemptedBy(PreemptGain(policy), {2, 0}, {0, 5000})) << "its team had four times as much";
  EXPECT_TRUE(IsPreemptedBy(PreemptGain(policy), {1, 0}, {0, 5000})) << "a doubling counts, in turns and in preemption";
  EXPECT_FALSE(IsPreemptedBy(PreemptGain(policy), {0, 5000}, {2, 0}));
}

Urgency AnyUrgency(Rng& rng) {
  return {static_cast<std::int32_t>(rng.Between(0, 4)), rng.Between(-4000, 4000),
          static_cast<std::int32_t>(rng.Between(-1, 1))};
}

// Of random teams: nobody preempts itself, no two each other, no three in a circle; and whoever comes earlier in the
// queue preempts all that a later one does.
TEST(IsPreemptedBy, IsAStrictWeakOrderThatAgreesWithTheQueues) {
  const std::int64_t gain = PreemptGain(Policy());
  Rng rng(11);
  for (int i = 0; i < 200'000; ++i) {
    const Urgency a = AnyUrgency(rng), b = AnyUrgency(rng), c = AnyUrgency(rng);
    const auto beats = [&](const Urgency& waiting, const Urgency& running) {
      return IsPreemptedBy(gain, running, waiting);
    };
    ASSERT_FALSE(beats(a, a));
    ASSERT_FALSE(beats(a, b) && beats(b, a)) << a.share << " " << b.share;
    ASSERT_FALSE(beats(a, b) && beats(b, c) && !beats(a, c)) << a.share << " " << b.share << " " << c.share;
    ASSERT_FALSE(beats(a, b) && beats(b, c) && beats(c, a)) << a.share << " " << b.share << " " << c.share;
    ASSERT_FALSE(a < b && beats(b, c) && !beats(a, c)) << "the earlier one is refused what the later one gets";
    // Who runs stands at one place in the queue's order: whom nobody tells apart there is told apart by nobody.
    const Urgency place{c.share, c.score - gain, c.user_share};
    ASSERT_EQ(beats(a, c), a < place);
  }
}

TEST(Slicing, ANewJobTakesTurnsWithAnOldOneAfterItsQuantum) {
  Cluster c(Zones{.nodes = 1}, Patient());
  const JobId old = c.Running(Spec(1));
  c.Advance(Minutes(1));
  const JobId fresh = c.Submit(Spec(1));
  EXPECT_EQ(c.job(fresh).state, JobState::kQueued);
  EXPECT_EQ(c.Blockers(fresh).back().kind, BlockerKind::kNodesBusy);
  const TimePoint late = c.now() + Hours(2);
  while (c.now() < late && c.job(fresh).state != JobState::kRunning) PassTime(c);
  EXPECT_EQ(c.job(fresh).state, JobState::kRunning) << "nothing happened but time";
  EXPECT_EQ(c.job(old).interrupts, 1u);
  c.Advance(c.policy().quantum_min - Seconds(1));
  EXPECT_EQ(c.job(fresh).state, JobState::kRunning) << "the evicted one does not come back within the quantum";
}

TEST(Slicing, NobodyIsInterruptedWhereNobodyStarts) {
  Policy policy = Patient();
  policy.starvation_bound = Hours(1);  // the large one may interrupt whom it likes, and would still lack a node
  Cluster c(Zones{.nodes = 3}, policy);
  const JobId one = c.Running(Spec(1));
  const JobId other = c.Running(Spec(1));
  c.Silence(NodeId(3), true);
  const JobId large = c.Submit(Spec(3));  // all of the pool, and a node of it is silent
  ASSERT_EQ(c.job(large).state, JobState::kQueued);
  for (int turn = 0; turn < 200; ++turn) PassTime(c);  // past every quantum, and old enough to give way
  ASSERT_EQ(c.job(large).state, JobState::kQueued);
  EXPECT_EQ(c.job(one).state, JobState::kRunning);
  EXPECT_EQ(c.job(other).state, JobState::kRunning);
  EXPECT_EQ(c.job(one).interrupts + c.job(other).interrupts, 0u);
}

// Ten jobs that never end share one node for four days: each waits no longer than it is promised, and no two evict each
// other within a quantum.
TEST(Slicing, EverybodyIsServedWithinThePromise) {
  Policy policy = Patient();
  policy.starvation_bound = Hours(5);
  policy.quantum_max = Hours(1);
  Cluster c(Zones{.nodes = 1}, policy);
  std::vector<JobId> jobs;
  for (int i = 0; i < 10; ++i) jobs.push_back(c.Submit(Spec(1)));
  std::map<JobId, TimePoint> promised, started;
  const TimePoint end = c.now() + Hours(24 * 4);
  c.Settle();
  while (c.now() < end) {
    for (const JobId id : jobs) {
      const Job& job = c.job(id);
      if (job.state == JobState::kQueued) {
        promised.try_emplace(id, job.queued_at + PromisedWait(c.state(), c.policy(), job));
        if (started.contains(id)) {
          EXPECT_GE(job.queued_at, started.at(id) + policy.quantum_min) << "job " << id.value << " had no quantum";
          started.erase(id);
        }
      } else if (promised.contains(id)) {
        EXPECT_LE(c.attempt(id).claimed_at, promised.at(id)) << "job " << id.value << " waited too long";
        promised.erase(id);
      }
      if (job.state == JobState::kRunning) started.try_emplace(id, c.attempt(id).started_at);
    }
    PassTime(c);
  }
  for (const JobId id : jobs) EXPECT_GE(c.job(id).attempts, 3u) << "job " << id.value;
}

// Its class would take its node at the end of each quantum, and each time all that it did would be lost.
TEST(Slicing, AJobThatNeverSavesEndsAllTheSame) {
  Policy policy = Patient();
  policy.starvation_bound = Hours(2);
  policy.quantum_max = Hours(1);
  Cluster c(Zones{.nodes = 1}, policy);
  const JobId never_saves = c.Submit(Spec(1));
  c.script(never_saves).saves = false;
  for (int i = 0; i < 3; ++i) c.Submit(Spec(1));
  const TimePoint end = c.now() + Hours(24 * 10);
  const auto ran = [&] {
    const Job& job = c.job(never_saves);
    return job.state == JobState::kRunning ? c.now() - c.attempt(never_saves).started_at : Duration{};
  };
  c.Settle();
  while (c.now() < end && ran() < Hours(10)) PassTime(c);
  EXPECT_GE(ran(), Hours(10)) << "what it needs, in one go";
  EXPECT_GT(c.job(never_saves).quantum_doublings, 0u);
  c.Advance(Hours(3));  // the others are starved by now, and wait all the same
  std::string why;
  for (const auto& [shape, blockers] : *c.state().verdicts) {
    for (const Blocker& blocker : blockers) why += blocker.message + "; ";
  }
  EXPECT_NE(why.find("its quantum is doubled with each"), std::string::npos) << why;
  const JobId urgent = c.Submit(Spec(1, PriorityClass::kHigh));
  EXPECT_TRUE(c.attempt(never_saves).open_agreement()) << "a higher class need not wait";
  EXPECT_EQ(c.job(urgent).state, JobState::kStarting);
}

// A gang is gathered in one zone, or keeps others from the link: half of the nodes serve those ahead.
TEST(Slicing, ThePromiseCountsTheNodesOfOneZone) {
  const auto beyond_the_bound = [](int zones) {
    Cluster c(Zones{.zones = zones, .nodes = 8 / zones}, Patient());
    for (int i = 0; i < 8; ++i) c.Submit(Spec(1));  // all run
    c.Settle();
    for (int i = 0; i < 4; ++i) c.Submit(Spec(4));
    const JobId last = c.Submit(Spec(1));
    const Policy& policy = c.policy();
    return PromisedWait(c.state(), policy, c.job(last)) - policy.starvation_bound - policy.quantum_max;
  };
  EXPECT_GT(beyond_the_bound(1), Duration{});
  EXPECT_EQ(beyond_the_bound(2), beyond_the_bound(1) * 2);
}

// What is protected longest ends by then, whether a quantum or a min_run does it.
TEST(Slicing, ThePromiseCountsTheLongestMinRun) {
  Policy policy = Patient();
  policy.quantum_min = policy.quantum_max = Minutes(1);
  policy.min_run_max = Hours(1);
  Cluster c(Zones{.nodes = 1}, policy);
  c.Submit(Spec(1));
  c.Settle();
  const JobId first = c.Submit(Spec(1));
  const JobId second = c.Submit(Spec(1));
  const auto beyond_the_bound = [&](JobId id) {
    return PromisedWait(c.state(), c.policy(), c.job(id)) - c.policy().starvation_bound;
  };
  EXPECT_EQ(beyond_the_bound(first), Hours(1));
  EXPECT_EQ(beyond_the_bound(second), Hours(1) + Hours(2)) << "and twice that of who waits longer";
  c.policy().min_run_factor = 0;
  EXPECT_EQ(beyond_the_bound(first), Minutes(1));
}

TEST(Slicing, ALightTeamComesBeforeAHeavyOne) {
  Cluster c(Zones{.nodes = 1}, Patient());
  JobSpec spec = Spec(1);
  const auto submit = [&](const std::string& user, const std::string& team) {
    return c.Do(SubmitJobs{user, team, "", {spec}, false}).jobs.at(0);
  };
  const JobId first = submit("ann", "heavy");
  c.Settle();
  c.Advance(Minutes(14));
  c.Finish(first);
  const JobId second = submit("ann", "heavy");
  c.Settle();
  c.Advance(Minutes(10));
  const JobId heavy = submit("ann", "heavy");
  const JobId light = submit("bob", "light");
  c.Finish(second);
  EXPECT_EQ(c.job(light).state, JobState::kRunning) << "though it came later";
  EXPECT_EQ(c.job(heavy).state, JobState::kQueued);
}

}  // namespace
}  // namespace glim::core
