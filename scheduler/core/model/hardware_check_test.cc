// What of a node's labels its agent's findings contradict, and in which words.
#include "scheduler/core/model/hardware_check.h"

#include <gtest/gtest.h>

namespace glim::core {
namespace {

constexpr const char* kA100 = "NVIDIA A100-SXM4-80GB";

NodeInventory GpusFound(std::uint32_t count, const std::string& type = kA100) {
  NodeInventory found;
  found.gpus.resize(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    found.gpus[i].index = i;
    found.gpus[i].type = type;
  }
  return found;
}

NodeLabels Labelled(std::uint32_t gpus, const std::string& type = "", NvLink nvlink = NvLink::kNone,
                    const std::string& nic = "") {
  NodeLabels labels;
  labels.gpu_count = gpus;
  labels.gpu_type = type;
  labels.nvlink = nvlink;
  labels.nic = nic;
  return labels;
}

TEST(HardwareCheck, GpusAreCounted) {
  EXPECT_EQ(HardwareDifferences(Labelled(8), GpusFound(8)), "");
  EXPECT_EQ(HardwareDifferences(Labelled(8, "a100"), GpusFound(7)),
            "its labels say 8 GPUs of a100, its agent found 7 (NVIDIA A100-SXM4-80GB)");
  EXPECT_EQ(HardwareDifferences(Labelled(1), GpusFound(2)),
            "its labels say 1 GPU, its agent found 2 (NVIDIA A100-SXM4-80GB)")
      << "more than labelled are a difference, too: which of them would be meant?";
  EXPECT_EQ(HardwareDifferences(Labelled(8), {}), "its labels say 8 GPUs, its agent found none");
  EXPECT_EQ(HardwareDifferences(Labelled(0, "a100"), GpusFound(8)), "") << "it gives none of them to jobs";
}

TEST(HardwareCheck, ATypeFitsByTheWordsOfTheDriversName) {
  struct Row {
    const char* label;
    const char* name;
    bool fits;
  };
  constexpr Row kRows[] = {
      {"", kA100, true},
      {"a100", kA100, true},
      {"A100", kA100, true},
      {"nvidia_a100", kA100, true},
      {"a100-80gb", kA100, true},
      {"a100-sxm4-80gb", kA100, true},
      {"a100-40gb", kA100, false},
      {"80gb-a100", kA100, false},
      {"a10", kA100, false},
      {"100", kA100, false},
      {"h100", kA100, false},
      {"h100", "NVIDIA H100 80GB HBM3", true},
      {"h100-hbm3", "NVIDIA H100 80GB HBM3", true},
      {"rtx4090", "NVIDIA GeForce RTX 4090", true},
      {"rtx-4090", "NVIDIA GeForce RTX 4090", true},
      {"rtx409", "NVIDIA GeForce RTX 4090", false},
      {"a100", "NVIDIA A1000", false},
      {"a100", "", false},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(HardwareDifferences(Labelled(1, row.label), GpusFound(1, row.name)).empty(), row.fits)
        << row.label << " of " << row.name;
  }
}

TEST(HardwareCheck, OneOtherGpuAmongThemIsNamed) {
  NodeInventory found = GpusFound(2);
  found.gpus[1].type = "NVIDIA H100 PCIe";
  EXPECT_EQ(HardwareDifferences(Labelled(2, "a100"), found),
            "its labels say 2 GPUs of a100, its agent found 2 (NVIDIA A100-SXM4-80GB, NVIDIA H100 PCIe)");
}

TEST(HardwareCheck, LinksLeadToOneOtherOrToAll) {
  NodeInventory found = GpusFound(4);
  const auto differs = [&](NvLink label) { return HardwareDifferences(Labelled(4, "", label), found); };
  EXPECT_EQ(differs(NvLink::kNone), "");
  EXPECT_EQ(differs(NvLink::kPair), "its labels say nvlink pair, its agent found GPUs without a link to another");
  for (std::uint32_t i = 0; i < 4; ++i) found.gpus[i].nvlink = {i ^ 1U};
  EXPECT_EQ(differs(NvLink::kPair), "");
  EXPECT_EQ(differs(NvLink::kFull),
            "its labels say nvlink full, its agent found GPUs without a link to each of the others");
  for (std::uint32_t i = 0; i < 4; ++i) found.gpus[i].nvlink = {0, 1, 2, 3};
  EXPECT_EQ(differs(NvLink::kFull), "");
  EXPECT_EQ(differs(NvLink::kPair), "");
  found.gpus[2].nvlink = {2, 9};
  EXPECT_NE(differs(NvLink::kPair), "") << "neither itself nor a GPU that is not there is another";
  EXPECT_EQ(HardwareDifferences(Labelled(1, "", NvLink::kFull), GpusFound(1)), "") << "there is none to lead to";
}

TEST(HardwareCheck, ANetworkNeedsACardOfItsKind) {
  NodeInventory found;
  found.nics.resize(1);
  found.nics[0].kind = "ethernet";
  for (const char* const nic : {"", "ethernet", "slingshot"}) {
    EXPECT_EQ(HardwareDifferences(Labelled(0, "", NvLink::kNone, nic), found), "") << nic;
  }
  EXPECT_EQ(HardwareDifferences(Labelled(0, "", NvLink::kNone, "roce"), found),
            "its labels say nic roce, its agent found no such card");
  found.nics.resize(2);
  found.nics[1].kind = "infiniband";
  found.nics[1].state = "down";
  EXPECT_EQ(HardwareDifferences(Labelled(0, "", NvLink::kNone, "infiniband"), found), "")
      << "a link that is down is what health checks tell";
  EXPECT_NE(HardwareDifferences(Labelled(0, "", NvLink::kNone, "roce"), found), "");
}

TEST(HardwareCheck, AllDifferencesAreTold) {
  EXPECT_EQ(HardwareDifferences(Labelled(8, "", NvLink::kFull, "infiniband"), GpusFound(7)),
            "its labels say 8 GPUs, its agent found 7 (NVIDIA A100-SXM4-80GB); they say nvlink full, its agent found "
            "GPUs without a link to each of the others; they say nic infiniband, its agent found no such card");
}

TEST(HardwareCheck, ASimulatedNodePlaysWhatItsLabelsSay) {
  NodeLabels labels = Labelled(8, "a100", NvLink::kFull, "infiniband");
  labels.simulated_gpus = true;
  EXPECT_EQ(HardwareDifferences(labels, {}), "");
}

}  // namespace
}  // namespace glim::core
