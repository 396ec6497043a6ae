// The part of a task's environment that tells of replicas: where its copies go, and where those of its base may be.
#include "scheduler/server/convert/desired_convert.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/specs.h"

namespace glim::server {
namespace {

using core::AttemptState;
using core::NodeId;

constexpr core::JobId kJob{7};

// Nodes 1 to 6 of one zone have services; attempt 5 of the job is about to start on node 1.
class ReplicaEnv : public testing::Test {
 protected:
  void SetUp() override {
    for (std::uint32_t id = 1; id <= 6; ++id) {
      core::Node node = core::testing::NodeRow(id);
      node.replica = node.name + ":7010";
      if (id == 1) node.holder = {kJob, 5};
      state_.Put(std::move(node));
    }
    state_.Put(core::testing::JobRow(kJob.value));
  }

  void AddAttempt(std::uint32_t number, const std::vector<std::uint32_t>& replicas, core::Checkpoint base = {}) {
    const AttemptState life = number == 5 ? AttemptState::kStarting : AttemptState::kEnded;
    core::Attempt row = core::testing::AttemptRow({kJob, number}, life, {NodeId(1)});
    row.started_at = TimePoint{1000};
    row.base = std::move(base);
    for (const std::uint32_t id : replicas) row.replicas.push_back(NodeId(id));
    state_.Put(std::move(row));
  }

  template <typename F>
  void Edit(NodeId id, F change) {
    core::Node row = *state_.FindNode(id);
    change(row);
    state_.Put(std::move(row));
  }

  v1::TaskLaunch Launch() { return Desired().launch(); }

  v1::DesiredTask Desired() {
    core::Task task;
    task.id = {{kJob, 5}, 0};
    task.node = NodeId(1);
    state_.Put(task);
    Snapshot snapshot;
    snapshot.tables = state_.tables();
    GangCache cache;
    return BuildDesiredState(snapshot, NodeId(1), {}, TimePoint{2000}, &cache).tasks(0);
  }

  // "-": not set.
  std::string Env(const std::string& name) {
    const v1::TaskLaunch launch = Launch();
    for (const auto& var : launch.env()) {
      if (var.name() == name) return var.value();
    }
    return "-";
  }

  core::ClusterState state_;
};

TEST_F(ReplicaEnv, SourcesAreTheNeighboursSinceTheBaseNewestFirst) {
  AddAttempt(1, {2});     // before the base
  AddAttempt(2, {3, 4});  // wrote it
  AddAttempt(3, {0, 4});
  AddAttempt(4, {5});
  AddAttempt(5, {6}, {10, "/ckpt/10", 1, 2, {}});
  EXPECT_EQ(Env("GLIM_REPLICA_PEER"), "n6:7010");
  EXPECT_EQ(Env("GLIM_REPLICA_SOURCES"), "n5:7010,n4:7010,n3:7010");
}

TEST_F(ReplicaEnv, WhoIsLostOrHasNoServiceAnyMoreIsNotNamed) {
  AddAttempt(2, {3, 4, 5});
  AddAttempt(5, {3}, {10, "/ckpt/10", 1, 2, {}});
  Edit(NodeId(3), [](core::Node& node) { node.state = core::NodeState::kLost; });
  Edit(NodeId(4), [](core::Node& node) { node.replica.clear(); });
  Edit(NodeId(5), [](core::Node& node) { node.state = core::NodeState::kSilent; });
  EXPECT_EQ(Env("GLIM_REPLICA_PEER"), "-");
  EXPECT_EQ(Env("GLIM_REPLICA_SOURCES"), "n5:7010") << "who is silent may be there";
}

TEST_F(ReplicaEnv, AnAttemptThatNeverStartedLeftNoCopies) {
  AddAttempt(2, {3});
  AddAttempt(4, {4});
  core::Attempt dropped = *state_.FindAttempt({kJob, 4});
  dropped.started_at = {};
  state_.Put(std::move(dropped));
  AddAttempt(5, {}, {10, "/ckpt/10", 1, 2, {}});
  EXPECT_EQ(Env("GLIM_REPLICA_SOURCES"), "n3:7010");
}

TEST_F(ReplicaEnv, WithoutABaseOrNeighboursThereIsNothingToTell) {
  AddAttempt(4, {5});
  AddAttempt(5, {0});
  EXPECT_EQ(Env("GLIM_REPLICA_PEER"), "-");
  EXPECT_EQ(Env("GLIM_REPLICA_SOURCES"), "-");
}

TEST_F(ReplicaEnv, ALaunchNamesTheArchiveOfTheJobsCode) {
  core::Job job = *state_.FindJob(kJob);
  core::JobSpec spec = *job.spec;
  spec.snapshot = {"/shared/snapshots/abc.tar.zst", "abc", "", 10};
  job.spec = std::make_shared<const core::JobSpec>(spec);
  state_.Put(std::move(job));
  AddAttempt(5, {});
  EXPECT_EQ(Launch().snapshot(), "/shared/snapshots/abc.tar.zst");
}

TEST_F(ReplicaEnv, ATaskIsToldWhoItIs) {
  AddAttempt(5, {});
  EXPECT_FALSE(Launch().has_task_user()) << "the registry had no uid of the user";
  core::Attempt attempt = *state_.FindAttempt({kJob, 5});
  attempt.task_user = core::TaskUser{1000, 1001, {44, 2000}};
  state_.Put(std::move(attempt));
  const v1::TaskLaunch launch = Launch();
  EXPECT_EQ(launch.task_user().uid(), 1000u);
  EXPECT_EQ(launch.task_user().gid(), 1001u);
  EXPECT_EQ(std::vector<std::uint32_t>(launch.task_user().groups().begin(), launch.task_user().groups().end()),
            (std::vector<std::uint32_t>{44, 2000}));
}

// A variable that is too long for the kernel would keep the task from starting.
TEST_F(ReplicaEnv, TheSourcesOfAHugeGangFitIntoOneVariable) {
  std::vector<std::uint32_t> neighbours;
  for (std::uint32_t id = 1001; id <= 2000; ++id) {
    core::Node node = core::testing::NodeRow(id);
    node.replica = node.name + std::string(200, 'x') + ":7010";
    state_.Put(std::move(node));
    neighbours.push_back(id);
  }
  AddAttempt(2, neighbours);
  AddAttempt(5, {}, {10, "/ckpt/10", 1, 2, {}});
  const std::string sources = Env("GLIM_REPLICA_SOURCES");
  EXPECT_LT(sources.size(), 100'000u);
  EXPECT_GT(sources.size(), 90'000u);
  EXPECT_TRUE(sources.starts_with("n1001x"));
  EXPECT_TRUE(sources.ends_with(":7010"));
}

// What a round asks for is the round's, not the spec's: with interrupt.mode auto the two may differ.
TEST_F(ReplicaEnv, ASignalledRoundSendsTheSignalAndTellsListenersToStop) {
  for (const auto round : {core::AgreementState::kSignalled, core::AgreementState::kNotifying}) {
    AddAttempt(5, {});
    core::Attempt attempt = *state_.FindAttempt({kJob, 5});
    attempt.agreements.emplace_back().id = 1;
    attempt.agreements.back().state = round;
    attempt.agreements.back().deadline = TimePoint{9000};
    state_.Put(std::move(attempt));
    const v1::InterruptOrder order = Desired().interrupt();
    const bool signalled = round == core::AgreementState::kSignalled;
    EXPECT_EQ(order.signal(), signalled ? "TERM" : "");
    EXPECT_EQ(order.no_agreement(), signalled);
    EXPECT_EQ(order.grace_left_ms(), 7000);
  }
}

TEST_F(ReplicaEnv, ATaskOfAnAttemptThatStandsStillIsAskedUntilItsAnswerIsKept) {
  AddAttempt(5, {});
  core::Attempt attempt = *state_.FindAttempt({kJob, 5});
  attempt.state = AttemptState::kRunning;
  attempt.evidence_asked = 3;
  state_.Put(attempt);
  EXPECT_EQ(Desired().evidence(), 0u) << "it was asked once, and went on since";
  attempt.stalled_since = TimePoint{1500};
  state_.Put(attempt);
  EXPECT_EQ(Desired().evidence(), 3u);
  attempt.evidence = "n1: rank 0: python3 (pid 3) sleeps\n";
  state_.Put(attempt);
  EXPECT_EQ(Desired().evidence(), 0u);
}

}  // namespace
}  // namespace glim::server
