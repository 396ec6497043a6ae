// A cut of the network that nobody else saw fails no job.
#include "scheduler/core/lifecycle/lost_contact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::ScriptedAgent;
using testing::Spec;
using testing::SpecWith;
using testing::Zones;

const std::string kReset = "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:41234";
const std::string kOwn = "ValueError: Expected input batch_size (8) to match target batch_size (7).";

class LostContactTest : public ::testing::Test {
 protected:
  JobId Start(std::uint32_t nodes = 2, std::vector<std::string> restart_on = {"node_failure", "network"}) {
    return c.Running(SpecWith(nodes, [&](JobSpec& spec) { spec.restart_on = std::move(restart_on); }));
  }
  void Fails(JobId job, std::uint32_t index, const std::string& cause, std::int32_t code = 1) {
    c.Edit(job, index, [&](ObservedTask& task) {
      task.ranks[0].cause = cause;
      task.ranks[0].exited_at = c.now();
      ScriptedAgent::Release(task, code);
    });
  }
  void AllFail(JobId job, const std::string& cause = kReset) {
    const auto nodes = static_cast<std::uint32_t>(c.attempt(job).nodes.size());
    const std::uint32_t number = c.attempt(job).id.number;
    for (std::uint32_t i = 0; i < nodes && c.attempt(job).id.number == number; ++i) Fails(job, i, cause);
    c.Settle();
  }

  Cluster c{Zones{.nodes = 6}, testing::Patient()};
};

TEST_F(LostContactTest, WhereNoRankFailedByItselfTheJobGoesOnElsewhere) {
  const JobId job = Start();
  const std::vector<NodeId> before = c.attempt(job).nodes;
  AllFail(job);
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNetwork);
  EXPECT_THAT(c.attempt(job, 1).message, HasSubstr("Connection closed by peer"));
  EXPECT_THAT(c.attempt(job, 1).message,
              HasSubstr("its ranks lost contact with each other, and none failed by itself"));
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  for (const NodeId node : c.attempt(job).nodes) EXPECT_THAT(before, ::testing::Not(::testing::Contains(node)));
  for (const NodeId node : before) {
    EXPECT_EQ(c.node(node).suspect_until, TimePoint{}) << "nobody knows that it was this one";
    EXPECT_TRUE(c.node(node).failures.empty());
  }
}

TEST_F(LostContactTest, InACutAfterWhichAllAreHeardAgainItIsTheNetworks) {
  c.policy().node_lost_after = Minutes(1);
  const JobId job = Start();
  const NodeId cut = c.attempt(job).nodes[0];
  c.Silence(cut, true);
  Fails(job, 1, kReset);
  c.Advance(Seconds(20));
  c.Return(cut);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNetwork);
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST_F(LostContactTest, ARankThatFailedByItselfExplainsWhatTheOthersSay) {
  const JobId job = Start();
  c.Edit(job, 0, [&](ObservedTask& task) {
    task.ranks[0].cause = kReset;
    task.ranks[0].exited_at = c.now();
    task.ranks[0].exited = true;
    task.ranks[0].exit_code = 1;
  });
  Fails(job, 1, kOwn);
  c.Settle();
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kFailed);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
}

TEST_F(LostContactTest, SoDoesOneThatEndedBeforeOrWasKilled) {
  struct Other {
    std::int32_t code;
    std::string cause;
    Outcome outcome;
  };
  for (const Other& other : {Other{0, "", Outcome::kFailed}, Other{139, kReset, Outcome::kFailed},
                             Other{134, "Watchdog caught collective operation timeout", Outcome::kNetwork}}) {
    SCOPED_TRACE(other.code);
    const JobId job = Start();
    Fails(job, 0, other.cause, other.code);
    c.SetNow(c.now() + Seconds(1));
    if (c.attempt(job).state != AttemptState::kEnded && c.attempt(job).stop == StopCause::kNone) Fails(job, 1, kReset);
    c.Settle();
    EXPECT_EQ(c.attempt(job, 1).outcome, other.outcome);
  }
}

TEST_F(LostContactTest, TheThirdInARowIsTheProgramsFault) {
  const JobId job = Start();
  for (std::uint32_t number = 1; number <= 2; ++number) {
    AllFail(job);
    ASSERT_EQ(c.attempt(job, number).outcome, Outcome::kNetwork);
    c.Advance(Minutes(2));
    c.Settle();
    ASSERT_EQ(c.job(job).state, JobState::kRunning);
  }
  AllFail(job);
  EXPECT_EQ(c.attempt(job, 3).outcome, Outcome::kFailed);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_THAT(c.job(job).message, HasSubstr("Connection closed by peer"));
  EXPECT_THAT(c.job(job).message, HasSubstr("3 times in a row without a save in between"));
}

TEST_F(LostContactTest, ASaveInBetweenBeginsTheCountAnew) {
  const JobId job = Start();
  for (const std::int64_t step : {10, 20, 30, 40}) {
    c.Save(job, step);
    AllFail(job);
    c.Advance(Minutes(10));
    c.Settle();
    ASSERT_EQ(c.job(job).state, JobState::kRunning) << step;
  }
}

TEST_F(LostContactTest, AJobOfOneNodeHasLostNobody) {
  const JobId job = Start(1);
  AllFail(job);
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kFailed);
}

TEST_F(LostContactTest, WhoDoesNotWantToRestartByTheNetworkDoesNot) {
  const JobId job = Start(2, {"node_failure"});
  AllFail(job);
  EXPECT_EQ(c.attempt(job, 1).outcome, Outcome::kNetwork);
  EXPECT_EQ(c.job(job).state, JobState::kFailed);
  EXPECT_THAT(c.job(job).message, HasSubstr("restart.on does not list network"));
}

TEST(ErrorsOfCommunication, AreKnownByTheirLibrariesWords) {
  const char* const kNetworks[] = {
      "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:41234",
      "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv operation to "
      "complete",
      "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2251, unhandled system error (run with "
      "NCCL_DEBUG=INFO for details), NCCL version 2.21.5",
      "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, remote process exited or there "
      "was a network error, NCCL version 2.21.5",
      "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms while trying to connect to "
      "(n1, 29500).",
      "terminate called after throwing an instance: [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(",
      "ConnectionResetError: [Errno 104] Connection reset by peer",
      "BrokenPipeError: [Errno 32] Broken pipe",
      "OSError: [Errno 113] No route to host",
      "glim.hfreduce.HfreduceError: node 1 is lost: Connection reset by peer",
      "glim.hfreduce.HfreduceError: node 2 has left before operation 7",
  };
  for (const char* cause : kNetworks) EXPECT_TRUE(IsOfCommunication(cause)) << cause;
  const char* const kOthers[] = {
      "",
      "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
      "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, invalid usage, NCCL 2.21.5",
      "RuntimeError: CUDA error: device-side assert triggered",
      "ModuleNotFoundError: No module named 'network'",
      "glim.hfreduce.HfreduceError: the ranks' tensors have different sizes",
      "KeyError: 'connection'",
  };
  for (const char* cause : kOthers) EXPECT_FALSE(IsOfCommunication(cause)) << cause;
}

}  // namespace
}  // namespace glim::core
