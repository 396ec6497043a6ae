// The whole scheduler under virtual time, by seed. A failure names its seed; `glim-sim --seed N` plays it again.
#include <gtest/gtest.h>

#include <cstdint>

#include "scheduler/sim/world/world.h"
#include "sdk/base/testing/seeds.h"

namespace glim::sim {
namespace {

// Of a case. A sanitized run plays only the first case of each kind (tests/run).
constexpr std::uint64_t kSeeds = SeedsOf(25, 3);

WorldReport RunSeed(std::uint64_t seed, std::uint64_t events, bool faults = false) {
  WorldOptions options;
  options.faults = faults;
  options.seed = seed;
  options.events = events;
  return World(options).Run();
}

// 2,000 events are driven for each seed, and then as many as it takes until every job has ended.
void RunSeeds(std::uint64_t first, bool faults) {
  for (std::uint64_t seed = first; seed < first + kSeeds; ++seed) {
    const WorldReport report = RunSeed(seed, 2000, faults);
    ASSERT_TRUE(report.violations.empty())
        << "seed " << seed << (faults ? " --faults" : "") << ": " << report.violations.front();
    ASSERT_GT(report.jobs, 0u);
    ASSERT_GE(report.events, 2000u);
  }
}

// The first of a case's seeds: small enough for CTest to keep every core busy.
class Seeds : public ::testing::TestWithParam<std::uint64_t> {};
TEST_P(Seeds, NothingIsViolatedAndEveryJobComesToItsEnd) { RunSeeds(GetParam(), false); }
INSTANTIATE_TEST_SUITE_P(TwoHundred, Seeds, ::testing::Range<std::uint64_t>(1, 201, 25));

class FaultySeeds : public ::testing::TestWithParam<std::uint64_t> {};
TEST_P(FaultySeeds, NothingIsViolatedAndEveryJobComesToItsEnd) { RunSeeds(GetParam(), true); }
INSTANTIATE_TEST_SUITE_P(Thousand, FaultySeeds, ::testing::Range<std::uint64_t>(1, 1001, 25));

TEST(Simulation, ReachesEveryFault) {
  WorldReport sum;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const WorldReport report = RunSeed(seed, 2000, true);
    sum.node_failures += report.node_failures;
    sum.nodes_lost += report.nodes_lost;
    sum.outages += report.outages;
    sum.scheduler_restarts += report.scheduler_restarts;
    sum.agent_restarts += report.agent_restarts;
    sum.supervisors_lost += report.supervisors_lost;
    sum.relabelled += report.relabelled;
    sum.reinstalled += report.reinstalled;
    sum.messages_lost += report.messages_lost;
    sum.clock_steps += report.clock_steps;
    sum.rivals += report.rivals;
    sum.copies += report.copies;
    sum.saves_waited_for += report.saves_waited_for;
    sum.saves_given_up += report.saves_given_up;
  }
  EXPECT_GT(sum.node_failures, 0u);
  EXPECT_GT(sum.nodes_lost, 0u);
  EXPECT_GT(sum.outages, 0u);
  EXPECT_GT(sum.scheduler_restarts, 0u);
  EXPECT_GT(sum.agent_restarts, 0u);
  EXPECT_GT(sum.supervisors_lost, 0u);
  EXPECT_GT(sum.relabelled, 0u);
  EXPECT_GT(sum.reinstalled, 0u);
  EXPECT_GT(sum.messages_lost, 0u);
  EXPECT_GT(sum.clock_steps, 0u);
  EXPECT_GT(sum.rivals, 0u);
  EXPECT_GT(sum.copies, 0u);
  EXPECT_GT(sum.saves_waited_for, 0u);
  EXPECT_GT(sum.saves_given_up, 0u);
}

TEST(Simulation, TheSameSeedGivesTheSameHistory) {
  const WorldReport first = RunSeed(7, 1500);
  const WorldReport again = RunSeed(7, 1500);
  EXPECT_EQ(first.digest, again.digest);
  EXPECT_EQ(first.virtual_ms, again.virtual_ms);
  EXPECT_NE(first.digest, RunSeed(8, 1500).digest);
}

// If the workload stopped reaching these, the suite above would prove nothing about them.
TEST(Simulation, ReachesEveryEndOfAnInterrupt) {
  WorldReport sum;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const WorldReport report = RunSeed(seed, 2000);
    sum.saved += report.saved;
    sum.left_unsaved += report.left_unsaved;
    sum.killed += report.killed;
    sum.withdrawn += report.withdrawn;
    sum.swap_aborted += report.swap_aborted;
    sum.failed += report.failed;
    sum.cancelled += report.cancelled;
    sum.timeouts += report.timeouts;
    sum.dependants += report.dependants;
  }
  EXPECT_GT(sum.saved, 0u);
  EXPECT_GT(sum.left_unsaved, 0u);
  EXPECT_GT(sum.killed, 0u);
  EXPECT_GT(sum.withdrawn, 0u);
  EXPECT_GT(sum.swap_aborted, 0u);
  EXPECT_GT(sum.failed, 0u);
  EXPECT_GT(sum.cancelled, 0u);
  EXPECT_GT(sum.timeouts, 0u);
  EXPECT_GT(sum.dependants, 0u);
}

}  // namespace
}  // namespace glim::sim
