// Evictions at random: jobs of three classes and all sizes on two zones with one link, users who submit and cancel,
// tasks that do not save or do not leave. Whatever happens, nobody leaves for nothing, and no two jobs take turns at
// evicting each other faster than the quantum.
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"
#include "sdk/base/rng.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Script;
using testing::Spec;
using testing::Zones;

constexpr int kSeeds = 32;
constexpr int kSteps = 500;
constexpr std::uint32_t kUnfinishedMax = 9;  // few enough to meet again and again

// Of one attempt for another, as their rows tell it afterwards.
struct Eviction {
  AttemptId whom, by;
  TimePoint at, left_at;
  bool aborted = false;
  bool moved = false;
};

class Crowd {
 public:
  explicit Crowd(std::uint64_t seed)
      : rng_(seed),
        c_(Zones{.zones = 2, .leaves = 2, .nodes = static_cast<int>(rng_.Between(2, 3))}, CrowdPolicy(rng_)) {}

  void Step() {
    switch (rng_.Between(0, 9)) {
      case 0:
      case 1:
        if (c_.state().index().kept.unfinished.jobs < kUnfinishedMax) Submit();
        break;
      case 2:
        if (!rng_.OneIn(4)) break;
        if (const JobId job = Any({JobState::kRunning})) c_.Finish(job);
        break;
      case 3:
        if (rng_.OneIn(4)) Cancel();
        break;
      default: c_.Advance(Milliseconds(rng_.Between(1, 55'000)));  // less than a grace
    }
    if (!rng_.OneIn(4)) c_.Settle();
  }

  std::vector<Eviction> Evictions() {
    std::vector<Eviction> evictions;
    c_.state().tables().attempts.ForEach([&](const AttemptId& id, const Attempt& attempt) {
      for (const Agreement& agreement : attempt.agreements) {
        if (!agreement.preemptor || agreement.state == AgreementState::kWithdrawn) continue;
        // If the one that it was for has gone away, the nodes go to somebody else who evicted nobody.
        const std::string by = "job " + std::to_string(agreement.preemptor.job.value) + " ";
        if (!agreement.swap_aborted && !agreement.reason.starts_with(by)) continue;
        evictions.push_back({id, agreement.preemptor, agreement.requested_at, attempt.ended_at, agreement.swap_aborted,
                             agreement.moved});
      }
    });
    return evictions;
  }

  Cluster& cluster() { return c_; }

 private:
  static Policy CrowdPolicy(Rng& rng) {
    Policy policy;
    policy.node_lost_after = Hours(1000);
    policy.quantum_min = Minutes(4);
    policy.quantum_max = Minutes(10);
    policy.starvation_bound = Minutes(rng.Between(10, 40));
    policy.preempt_gain_permille = 1000;
    policy.backfill_hold_after = Minutes(2);
    policy.cross_zone_nodes_min = static_cast<std::uint32_t>(rng.Between(2, 12));
    policy.move_gain_permille = 1;  // evictions and moves are to be frequent here
    return policy;
  }

  void Submit() {
    const auto total = static_cast<std::int64_t>(c_.state().tables().nodes.size());
    const std::int64_t most = rng_.OneIn(2) ? 2 : rng_.OneIn(4) ? total : total / 2;  // total / 2: a zone
    JobSpec spec = Spec(static_cast<std::uint32_t>(rng_.Between(1, most)));
    constexpr PriorityClass kClasses[] = {PriorityClass::kLow, PriorityClass::kNormal, PriorityClass::kNormal,
                                          PriorityClass::kNormal, PriorityClass::kHigh};
    spec.priority = kClasses[rng_.Between(0, 4)];
    const JobId job = c_.Submit(std::move(spec), rng_.OneIn(2) ? "ann" : "bob");
    c_.script(job).saves = !rng_.OneIn(4);
    c_.script(job).leaves = !rng_.OneIn(6);  // else it is killed at the end of its grace
  }

  void Cancel() {
    if (const JobId job = Any({JobState::kQueued, JobState::kStarting, JobState::kRunning, JobState::kInterrupting})) {
      c_.Cancel(job, c_.job(job).user);
    }
  }

  JobId Any(const std::set<JobState>& states) {
    std::vector<JobId> jobs;
    c_.state().tables().jobs.ForEach([&](JobId id, const Job& job) {
      if (states.contains(job.state)) jobs.push_back(id);
    });
    if (jobs.empty()) return {};
    return jobs[static_cast<std::size_t>(rng_.Between(0, static_cast<std::int64_t>(jobs.size()) - 1))];
  }

  Rng rng_;
  Cluster c_;
};

std::string Text(const Eviction& e) { return ToString(e.by) + " evicts " + ToString(e.whom); }

TEST(Evictions, AreForAStartOrTheSwapIsAborted) {
  int all = 0, moved = 0, aborted = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds && !::testing::Test::HasFailure(); ++seed) {
    Crowd crowd(seed);
    for (int i = 0; i < kSteps; ++i) crowd.Step();
    for (const Eviction& e : crowd.Evictions()) {
      const Attempt* by = crowd.cluster().state().FindAttempt(e.by);
      ASSERT_NE(by, nullptr);
      const bool on_its_way = by->state == AttemptState::kClaimed;
      // Somebody else dropped its claims (a user, a more urgent job) when this victim had left.
      const bool dropped_later = by->outcome == Outcome::kClaimDropped && e.left_at && e.left_at <= by->ended_at;
      EXPECT_TRUE(by->started_at || on_its_way || dropped_later || e.aborted)
          << "seed " << seed << ": " << Text(e) << " and does not start";
      ++all;
      moved += e.moved ? 1 : 0;
      aborted += e.aborted ? 1 : 0;
    }
  }
  EXPECT_GT(all, 500) << "else the walk proves little";
  EXPECT_GT(moved, 10);
  EXPECT_GT(aborted, 0);
}

TEST(Evictions, OfTwoJobsByEachOtherAreAQuantumApart) {
  int mutual = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds && !::testing::Test::HasFailure(); ++seed) {
    Crowd crowd(seed);
    for (int i = 0; i < kSteps; ++i) crowd.Step();
    std::map<std::pair<JobId, JobId>, std::vector<TimePoint>> by_pair;  // (who evicts, who is evicted)
    const std::vector<Eviction> evictions = crowd.Evictions();
    for (const Eviction& e : evictions) by_pair[{e.by.job, e.whom.job}].push_back(e.at);
    for (const auto& [pair, times] : by_pair) {
      const auto back = by_pair.find({pair.second, pair.first});
      if (back == by_pair.end()) continue;
      for (const TimePoint at : times) {
        for (const TimePoint in_return : back->second) {
          ++mutual;
          const Duration apart = at > in_return ? at - in_return : in_return - at;
          EXPECT_GE(apart, crowd.cluster().policy().quantum_min)
              << "seed " << seed << ": jobs " << pair.first.value << " and " << pair.second.value;
        }
      }
    }
  }
  EXPECT_GT(mutual, 30) << "else the walk proves little";
}

}  // namespace
}  // namespace glim::core
