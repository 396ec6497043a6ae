#include "nodeagent/hardware/inventory.h"

#include <gmock/gmock.h>

namespace glim::nodeagent {
namespace {

Inventory Full() {
  Inventory all;
  all.node.nics = {{"mlx5_0", "infiniband", "up", 200000, 1, "0000:5e:00.0"}};
  all.node.disks = {{"nvme0n1", "SAMSUNG \xff", 1024, false}};
  all.node.cpu_model = "AMD EPYC 7763";
  all.node.cpus = 4;
  all.node.cores = 2;
  all.node.sockets = 1;
  all.node.numa_nodes = 2;
  all.node.memory_bytes = std::int64_t{1} << 40;
  all.node.kernel = "6.1.0";
  all.node.gpu_driver = "535.129.03";
  all.node.bus_gpus = {"0000:17:00.0"};
  all.gpus.asked = true;
  all.gpus.gpus = {{0, "GPU-1", "NVIDIA A100", 80, "0000:17:00.0", 1, {1, 2}}};
  all.gpus.error = "no";
  all.gpus.fix = "mend it";
  all.gpus.warnings = {"old"};
  return all;
}

TEST(Inventory, IsReadAsItWasWritten) {
  Inventory all = Full();
  const Result<Inventory> read = ParseInventory(ToLine(all.node) + ToLine(all.gpus));
  ASSERT_TRUE(read.ok()) << read.status().message();
  all.node.disks[0].model = "SAMSUNG \xef\xbf\xbd";  // what is no UTF-8 is replaced
  EXPECT_EQ(*read, all);
}

TEST(Inventory, OfADriverThatHangsTheRestIsThere) {
  const std::string second = ToLine(Full().gpus);
  for (const std::string& more : {std::string(), second.substr(0, second.size() / 2)}) {
    const Result<Inventory> read = ParseInventory(ToLine(Full().node) + more);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->node.cpus, 4u);
    EXPECT_FALSE(read->gpus.asked);
  }
  EXPECT_EQ(ParseInventory("").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ParseInventory("{}\n").status().code(), StatusCode::kDataLoss);
}

TEST(Inventory, AGpusTypeIsWhatJobsAskFor) {
  const std::pair<const char*, const char*> cases[] = {
      {"NVIDIA A100-SXM4-80GB", "a100"}, {"A100-PCIE-40GB", "a100"},      {"NVIDIA H100 80GB HBM3", "h100"},
      {"Tesla V100-SXM2-32GB", "v100"},  {"NVIDIA L40S", "l40s"},         {"NVIDIA GeForce RTX 4090", "rtx-4090"},
      {"NVIDIA RTX A6000", "rtx-a6000"}, {"NVIDIA TITAN V", "titan-v"},   {"NVIDIA TITAN", "titan"},
      {"Quadro P4000", "p4000"},         {"NVIDIA GH200 480GB", "gh200"}, {"", ""}};
  for (const auto& [name, type] : cases) EXPECT_EQ(GpuTypeOf(name), type) << name;
}

std::vector<GpuPart> Linked(const std::vector<std::vector<std::uint32_t>>& links) {
  std::vector<GpuPart> gpus(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    gpus[i].index = static_cast<std::uint32_t>(i);
    gpus[i].nvlink = links[i];
  }
  return gpus;
}

TEST(Inventory, TheLabelNvlinkIsOfTheGpusThatJobsGet) {
  EXPECT_EQ(NvlinkOf(Linked({{1, 2}, {0, 2}, {0, 1}}), 3), "full");
  EXPECT_EQ(NvlinkOf(Linked({{1, 2}, {0, 2}, {0, 1}}), 2), "pair");
  EXPECT_EQ(NvlinkOf(Linked({{1}, {0}, {3}, {2}}), 4), "pair");
  EXPECT_EQ(NvlinkOf(Linked({{1}, {0}}), 2), "pair");
  EXPECT_EQ(NvlinkOf(Linked({{1}, {0}, {}}), 3), "none") << "one has none";
  EXPECT_EQ(NvlinkOf(Linked({{1}, {0}}), 1), "none") << "with itself nothing is linked";
  EXPECT_EQ(NvlinkOf({}, 0), "none");
}

TEST(Inventory, TheLabelNicIsTheBestPortThatIsThere) {
  const auto with = [](const std::vector<std::string>& kinds) {
    std::vector<NicPart> nics;
    for (const std::string& kind : kinds) nics.push_back({"n", kind, "up", 0, -1, ""});
    return NicOf(nics);
  };
  EXPECT_EQ(with({"ethernet", "roce", "infiniband"}), "infiniband");
  EXPECT_EQ(with({"ethernet", "roce"}), "roce");
  EXPECT_EQ(with({"ethernet"}), "");
  EXPECT_EQ(with({}), "");
}

}  // namespace
}  // namespace glim::nodeagent
