// The property that holds it all: at every moment of a random life, what the entries tell is what the core had.
#include "scheduler/server/loop/state_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/core/testing/cluster_builder.h"
#include "sdk/base/rng.h"

namespace glim::server {
namespace {

using core::testing::Cluster;
using core::testing::Script;
using core::testing::Spec;
using core::testing::Zones;

using Nodes = std::map<core::NodeId, StateReplay::NodeThen>;
using Jobs = std::map<core::JobId, StateReplay::JobThen>;

struct Then {
  Nodes nodes;
  Jobs jobs;
  friend bool operator==(const Then&, const Then&) = default;
};

Then Of(const core::Tables& tables) {
  Then then;
  tables.nodes.ForEach([&](core::NodeId id, const core::Node& node) {
    then.nodes[id] = {node.name, node.state, node.holder};
  });
  tables.jobs.ForEach([&](core::JobId id, const core::Job& job) {
    if (!core::IsTerminal(job.state)) then.jobs[id] = {job.state, job.attempts};
  });
  return then;
}

// As a commit would write them: rows that changed, rows that are gone.
std::vector<core::Mutation> Written(const core::Tables& before, const core::Tables& after) {
  std::vector<core::Mutation> out;
  after.nodes.ForEach([&](core::NodeId id, const core::Node&) { out.push_back(after.nodes.FindShared(id)); });
  after.jobs.ForEach([&](core::JobId id, const core::Job&) { out.push_back(after.jobs.FindShared(id)); });
  before.nodes.ForEach([&](core::NodeId id, const core::Node&) {
    if (!after.nodes.Find(id)) out.emplace_back(core::Deleted<core::Node>{id});
  });
  before.jobs.ForEach([&](core::JobId id, const core::Job&) {
    if (!after.jobs.Find(id)) out.emplace_back(core::Deleted<core::Job>{id});
  });
  return out;
}

// Something of what users, agents and clocks do.
void Live(Cluster& c, Rng& rng) {
  const auto last = static_cast<std::int64_t>(c.state().next_job_id.value) - 1;
  const core::JobId job(static_cast<std::uint64_t>(rng.Between(1, std::max<std::int64_t>(1, last))));
  const core::NodeId node(static_cast<std::uint32_t>(rng.Between(1, 4)));
  const bool known = c.state().FindJob(job) != nullptr;
  switch (rng.Between(0, 9)) {
    case 0:
    case 1:
    case 2: c.Submit(Spec(static_cast<std::uint32_t>(rng.Between(1, 3)))); break;
    case 3: c.Settle(); break;
    case 4:
      if (known) c.Cancel(job);
      break;
    case 5:
      if (known) c.Suspend(job);
      break;
    case 6:
      if (known) c.Resume(job);
      break;
    case 7: c.Silence(node, rng.OneIn(2)); break;
    case 8: c.Return(node); break;
    default: c.Advance(Seconds(rng.Between(1, 90)));
  }
}

class StateLog : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(StateLog, ARebuiltMomentIsWhatTheCoreHadThen) {
  Rng rng(GetParam());
  core::Policy policy;
  policy.finished_jobs_kept = 3;
  Cluster c(Zones{.zones = 1, .leaves = 2, .nodes = 2}, policy);
  std::vector<std::vector<core::HistoryEntry>> told = {WholeState(c.state().tables(), TimePoint{1})};
  std::vector<Then> states = {Of(c.state().tables())};
  for (int i = 0; i < 200; ++i) {
    const core::Tables before = c.state().tables();
    Live(c, rng);
    const core::Tables& after = c.state().tables();
    // Now and then the whole is told again, as it is once a day.
    told.push_back(rng.OneIn(20) ? WholeState(after, TimePoint{i})
                                 : StateChanges(before, Written(before, after), TimePoint{i}));
    states.push_back(Of(after));
  }
  StateReplay replay;
  for (std::size_t i = 0; i < told.size(); ++i) {
    for (const core::HistoryEntry& entry : told[i]) replay.Take(entry);
    ASSERT_EQ((Then{replay.nodes(), replay.jobs()}), states[i]) << "after " << i << " commits";
  }
  EXPECT_TRUE(replay.whole());
}

INSTANTIATE_TEST_SUITE_P(Seeds, StateLog, ::testing::Range<std::uint64_t>(1, 13));

TEST(StateLogTest, NothingIsSaidOfCommitsThatChangeNoState) {
  Cluster c(Zones{.nodes = 1});
  c.Running(Spec(1));
  const core::Tables tables = c.state().tables();
  EXPECT_TRUE(StateChanges(tables, Written(tables, tables), TimePoint{5}).empty());
}

TEST(StateLogTest, WithoutABeginningItIsNotWhole) {
  StateReplay replay;
  core::HistoryEntry entry;
  entry.facts.states = "j 7 running 2\nn 3 ready 7.2 node-3\nx 1 of a newer program\nj 8 unheard_of 1\n";
  replay.Take(entry);
  EXPECT_FALSE(replay.whole());
  EXPECT_EQ(replay.jobs(), (Jobs{{core::JobId(7), {core::JobState::kRunning, 2}}}));
  EXPECT_EQ(replay.nodes(), (Nodes{{core::NodeId(3), {"node-3", core::NodeState::kReady, {core::JobId(7), 2}}}}));
  entry.facts.states = "all\nn 4 lost - node-4\n";
  replay.Take(entry);
  EXPECT_TRUE(replay.whole());
  EXPECT_TRUE(replay.jobs().empty());
  EXPECT_EQ(replay.nodes().size(), 1u);
}

TEST(StateLogTest, ALargeStateIsToldInSeveralEntries) {
  core::ClusterState state;
  for (std::uint64_t id = 1; id <= 20'000; ++id) {
    core::Job job;
    job.id = core::JobId(id);
    job.spec = std::make_shared<const core::JobSpec>();
    state.Put(job);
  }
  const auto entries = WholeState(state.tables(), TimePoint{9});
  EXPECT_GT(entries.size(), 3u);
  StateReplay replay;
  for (const core::HistoryEntry& entry : entries) {
    EXPECT_LT(entry.facts.states.size(), 70'000u);
    EXPECT_EQ(entry.at, TimePoint{9});
    replay.Take(entry);
  }
  EXPECT_EQ(replay.jobs().size(), 20'000u);
}

}  // namespace
}  // namespace glim::server
