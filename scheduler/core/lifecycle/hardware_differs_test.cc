// A node whose labels are not what its agent found takes no job until they agree or an operator accepts it.
#include "scheduler/core/lifecycle/hardware_differs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;
using testing::Labels;
using testing::Patient;
using testing::Spec;
using testing::Zones;

constexpr const char* kSevenOfEight = "its labels say 8 GPUs of a100, its agent found 7 (NVIDIA A100-SXM4-80GB)";

// Of a node without links between its GPUs and without a fabric.
NodeLabels PlainLabels(std::uint32_t gpus) {
  NodeLabels labels = Labels("z1", "z1-l1", gpus);
  labels.nvlink = NvLink::kNone;
  labels.nic = "ethernet";
  return labels;
}

std::shared_ptr<const NodeInventory> Found(std::uint32_t gpus) {
  NodeInventory found;
  found.gpus.resize(gpus);
  for (GpuDevice& gpu : found.gpus) gpu.type = "NVIDIA A100-SXM4-80GB";
  return std::make_shared<const NodeInventory>(std::move(found));
}

// n1, whose agent tells what it finds. With an identity, the store's labels say 8 GPUs.
struct Compared : Cluster {
  explicit Compared(bool has_identity = true) : Cluster(Zones{.nodes = 0}, Patient()) {
    NodeIdentity row{"n1"};
    if (has_identity) {
      EXPECT_TRUE(Do(ChangeIdentity{{{row}}, "op"}).status.ok());
    }
    AddNode(PlainLabels(8));
  }
  // `says`: the agent's own options. Null: it tells no inventory.
  void Hello(std::shared_ptr<const NodeInventory> found, std::uint32_t says = 8) {
    Connect("n1", PlainLabels(says), "", {}, {}, std::move(found));
    Report(n1);
  }
  Reply Label(std::uint32_t gpus) { return Do(LabelNode{"n1", PlainLabels(gpus), "", {"gpus"}, "op"}); }
  const std::string& differs() { return node(n1).hardware_differs; }
  const NodeId n1{1};
};

TEST(HardwareDiffers, NoJobStartsThereAndWhyIsSaid) {
  Compared c;
  c.Hello(Found(7));
  EXPECT_EQ(c.differs(), kSevenOfEight);
  EXPECT_EQ(c.node(c.n1).state, NodeState::kReady);
  EXPECT_EQ(c.Noted(HistoryKind::kNodeFault), 1);
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kQueued);
  const Blocker out = c.Blockers(job).at(0);
  EXPECT_EQ(out.kind, BlockerKind::kNodesOut);
  EXPECT_THAT(out.message, HasSubstr(std::string("1 with a fault; node n1 has a fault: ") + kSevenOfEight));
  for (int again = 0; again < 2; ++again) c.Hello(Found(7));
  EXPECT_EQ(c.Noted(HistoryKind::kNodeFault), 1) << "told again";
}

TEST(HardwareDiffers, ItIsOverWhenTheHardwareIsThereAgain) {
  Compared c;
  c.Hello(Found(7));
  const JobId job = c.Submit(Spec(1));
  c.Hello(Found(8));
  EXPECT_EQ(c.differs(), "");
  EXPECT_EQ(c.Noted(HistoryKind::kNodeFaultOver), 1);
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
}

TEST(HardwareDiffers, AnOperatorAcceptsThisDifferenceAndNoOther) {
  Compared c;
  c.Hello(Found(7));
  ASSERT_TRUE(c.Label(8).status.ok());
  EXPECT_EQ(c.differs(), "");
  c.Hello(Found(7));
  EXPECT_EQ(c.differs(), "") << "known, and accepted";
  const JobId job = c.Submit(Spec(1));
  c.Settle();
  EXPECT_EQ(c.job(job).state, JobState::kRunning);
  c.Hello(Found(6));
  EXPECT_THAT(c.differs(), HasSubstr("found 6"));
  EXPECT_EQ(c.job(job).state, JobState::kRunning) << "what runs there runs on";
}

TEST(HardwareDiffers, LabelsThatSayWhatIsThereNeedNoAcceptance) {
  Compared c;
  c.Hello(Found(7));
  ASSERT_TRUE(c.Label(7).status.ok());
  EXPECT_EQ(c.differs(), "");
  EXPECT_EQ(c.node(c.n1).hardware_accepted, "");
  c.Hello(Found(8));
  EXPECT_THAT(c.differs(), HasSubstr("say 7 GPUs of a100, its agent found 8"));
}

TEST(HardwareDiffers, ADifferenceOutlivesTheSchedulerAndIsAcceptedBeforeTheAgentIsBack) {
  Compared c;
  c.Hello(Found(7));
  c.RestartScheduler();
  EXPECT_EQ(c.differs(), kSevenOfEight);
  ASSERT_TRUE(c.Label(8).status.ok());
  EXPECT_EQ(c.differs(), "");
  c.Hello(Found(7));
  EXPECT_EQ(c.differs(), "");
}

// The quarantine for missing GPUs says that already.
TEST(HardwareDiffers, GpusThatTheAgentDoesNotEvenSayAreAFaultOfTheirOwn) {
  Compared c;
  c.Hello(Found(7), 7);
  EXPECT_EQ(c.node(c.n1).state, NodeState::kQuarantined);
  EXPECT_EQ(c.differs(), "");
}

TEST(HardwareDiffers, OptionsOfANodeWithoutAnIdentityAreLabels) {
  Compared c(false);
  c.Hello(Found(4));
  EXPECT_THAT(c.differs(), HasSubstr("say 8 GPUs of a100, its agent found 4"));
  EXPECT_EQ(c.Label(4).status.reason(), "NO_IDENTITY");
}

TEST(HardwareDiffers, AnAgentThatTellsNoInventoryContradictsNothing) {
  Compared c;
  c.Hello(Found(7));
  c.Hello(nullptr);
  EXPECT_EQ(c.differs(), "");
}

TEST(HardwareDiffers, WhoWaitsForTheNodeLooksElsewhere) {
  Compared c;
  c.AddNode(PlainLabels(8));
  const JobId there = c.Running(Spec(1));
  ASSERT_EQ(c.attempt(there).nodes.front(), c.n1);
  const JobId waits = c.Submit(Spec(2, PriorityClass::kHigh), "bob");
  ASSERT_EQ(c.attempt(waits).state, AttemptState::kClaimed);
  c.Hello(Found(7));
  EXPECT_EQ(c.job(waits).state, JobState::kQueued);
  EXPECT_FALSE(c.node(c.n1).claim);
}

}  // namespace
}  // namespace glim::core
