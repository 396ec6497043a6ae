// GPUs of a node that a test makes up: good ones, and each way in which one is bad.
#include "nodeagent/programs/validate/gpu_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "nodeagent/hardware/testing/fake_nvml.h"
#include "nodeagent/hardware/testing/fake_sys.h"
#include "nodeagent/programs/validate/run.h"
#include "nodeagent/validate/judge.h"
#include "sdk/base/testing/folders.h"
#include "sdk/device/driver.h"
#include "sdk/device/testing/standin_node.h"
#include "sdk/device/testing/test_cuda.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::validate {
namespace {

using device::testing::StandinGpus;
using device::testing::StandinNode;
using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

class GpuPartTest : public ::testing::Test {
 protected:
  Options OptionsHere() const {
    Options options;
    options.parts = {"gpu"};
    options.gpu_seconds = 0;
    options.cuda_library = device::testing::StandinCuda();
    options.nvml_library = nvml_;
    options.sys_root = folder_.path() + "/root";
    return options;
  }

  // The verdicts by reading and device.
  std::map<std::string, Verdict> Judged(const json& node, const Baseline& baseline = {}) {
    const StandinGpus gpus(folder_.path(), node);
    const Readings readings = MeasureGpu(OptionsHere());
    EXPECT_TRUE(readings.ok()) << readings.status().message();
    std::map<std::string, Verdict> verdicts;
    if (!readings.ok()) return verdicts;
    for (Verdict& verdict : Judge(*readings, baseline)) {
      verdicts[verdict.reading.what + " " + verdict.reading.device] = verdict;
    }
    return verdicts;
  }
  static std::vector<std::string> Bad(const std::map<std::string, Verdict>& verdicts) {
    std::vector<std::string> bad;
    for (const auto& [name, verdict] : verdicts) {
      if (!verdict.ok) bad.push_back(name);
    }
    return bad;
  }

  const TempFolder folder_;
  std::string nvml_ = "/nowhere/libnvidia-ml.so.1";
};

TEST_F(GpuPartTest, GoodOnesAreMeasuredAndGood) {
  const auto verdicts = Judged(StandinNode(2));
  EXPECT_THAT(Bad(verdicts), ElementsAre());
  for (const char* const what : {"patterns", "write", "read", "multiply", "tensor", "to_device", "to_host"}) {
    for (const char* const gpu : {"gpu0", "gpu1"}) {
      const std::string name = std::string(what) + " " + gpu;
      ASSERT_THAT(verdicts, Contains(Key(name)));
      EXPECT_GT(verdicts.at(name).reading.value, 0) << name;
    }
  }
  EXPECT_NEAR(verdicts.at("to_device gpu0").reading.value, 25, 0.1);
  EXPECT_NEAR(verdicts.at("peer_pci gpu0 -> gpu1").reading.value, 200, 1);
  EXPECT_NEAR(verdicts.at("peer_pci gpu1 -> gpu0").reading.value, 200, 1);
  EXPECT_GT(verdicts.at("patterns gpu0").reading.value, 0.8) << "most of its MiB";
}

TEST_F(GpuPartTest, ABitThatStaysIsFoundWithItsAddress) {
  json node = StandinNode(2);
  node["gpus"][1]["stuck"] = {{"byte", 0x1234 * 8 + 2}, {"bits", 4}};
  const auto verdicts = Judged(node);
  EXPECT_THAT(Bad(verdicts), Contains("patterns gpu1"));
  EXPECT_TRUE(verdicts.at("patterns gpu0").ok);
  // The first pattern whose bit 18 is 0 in that word: 0xaa has a 1 only where 0x55 has none.
  EXPECT_THAT(verdicts.at("patterns gpu1").text,
              HasSubstr("1 wrong words; the first at byte 0x91a0 of the memory that was tested"));
  EXPECT_THAT(verdicts.at("patterns gpu1").text, HasSubstr("bits 0x0000000000040000, pattern 0xaa"));
}

TEST_F(GpuPartTest, AWrongProductIsFoundWithItsPlace) {
  for (const auto& [kernel, what] : {std::pair("glim_multiply_f32", "multiply"), {"glim_multiply_bf16", "tensor"}}) {
    json node = StandinNode(2);
    node["gpus"][0]["wrong"] = {{"kernel", kernel}, {"byte", (5 * 128 + 17) * 4}, {"bits", 1}};
    const auto verdicts = Judged(node);
    EXPECT_THAT(Bad(verdicts), ElementsAre(std::string(what) + " gpu0"));
    EXPECT_THAT(verdicts.at(std::string(what) + " gpu0").text,
                HasSubstr("1 of 16384 numbers; the first in row 5, column 17, bits 0x00000001"));
  }
}

TEST_F(GpuPartTest, ASlowOneIsTooSlowBesideTheOthers) {
  json node = StandinNode(3);
  node["gpus"][2]["speed"] = 0.8;
  EXPECT_THAT(Bad(Judged(node)), ElementsAre("multiply gpu2", "read gpu2", "tensor gpu2", "write gpu2"));
  node["gpus"][2]["speed"] = 0.9;
  EXPECT_THAT(Bad(Judged(node)), ElementsAre());
}

TEST_F(GpuPartTest, AllAreSlowAndTheFleetKnows) {
  const StandinGpus gpus(folder_.path(), StandinNode(2));
  const Readings good = MeasureGpu(OptionsHere());
  ASSERT_TRUE(good.ok());
  const Baseline baseline = Merge({*good});
  json node = StandinNode(2);
  for (json& gpu : node["gpus"]) gpu["to_host_gbps"] = 12;
  EXPECT_THAT(Bad(Judged(node)), ElementsAre());
  EXPECT_THAT(Bad(Judged(node, baseline)), ElementsAre("to_host gpu0", "to_host gpu1"));
}

TEST_F(GpuPartTest, ASlowPairIsNamedByItsEndsAndItsDirection) {
  json node = StandinNode(3);
  node["pairs"] = {{"2>0", 20}};
  const auto verdicts = Judged(node);
  EXPECT_THAT(Bad(verdicts), ElementsAre("peer_pci gpu2 -> gpu0"));
  EXPECT_THAT(verdicts.at("peer_pci gpu2 -> gpu0").text, HasSubstr("too slow: 20.00 GB/s"));
}

TEST_F(GpuPartTest, PairsAreComparedWithThoseOfTheirLink) {
  const TempFolder nvml;
  json says = nodeagent::FakeNode(3);
  for (int i = 0; i < 3; ++i) says["gpus"][i]["pci"] = {0, 0x16 + i, 0};
  says["gpus"][0]["links"] = {{{"active", true}, {"switch", false}, {"pci", {0, 0x17, 0}}}};
  says["gpus"][1]["links"] = {{{"active", true}, {"switch", false}, {"pci", {0, 0x16, 0}}}};
  const nodeagent::FakeNvml library(BuiltFile("test/libfake-nvml.so"), nvml.path(), says);
  nvml_ = library.path();
  json node = StandinNode(3);
  node["peer_gbps"] = 20;
  node["pairs"] = {{"0>1", 250}, {"1>0", 250}, {"2>1", 0}};
  const auto verdicts = Judged(node);
  EXPECT_THAT(Bad(verdicts), ElementsAre());
  EXPECT_THAT(verdicts, Contains(Key("peer_nvlink gpu0 -> gpu1")));
  EXPECT_THAT(verdicts, Contains(Key("peer_pci gpu0 -> gpu2")));
  EXPECT_THAT(verdicts, Contains(Key("peer_by_host gpu2 -> gpu1")));
  EXPECT_THAT(verdicts.at("link 0000:16:00.0").text, HasSubstr("x16, generation 4 now"));
  EXPECT_NEAR(verdicts.at("link 0000:16:00.0").reading.value, 31.5, 0.1);
}

TEST_F(GpuPartTest, ALinkThatHasLostLanesIsBad) {
  const TempFolder nvml;
  json says = nodeagent::FakeNode(1);
  says["gpus"][0]["pci"] = {0, 0x16, 0};
  says["gpus"][0]["pcie"] = {4, 4, 8, 16};
  const nodeagent::FakeNvml library(BuiltFile("test/libfake-nvml.so"), nvml.path(), says);
  nvml_ = library.path();
  const auto verdicts = Judged(StandinNode(1));
  EXPECT_THAT(Bad(verdicts), ElementsAre("link 0000:16:00.0"));
  EXPECT_THAT(verdicts.at("link 0000:16:00.0").text, HasSubstr("8 lanes of 16"));
}

TEST_F(GpuPartTest, CopiesSayWhichMemoryTheyCameFrom) {
  nodeagent::FakeSys(OptionsHere().sys_root).Gpu("0000:16:00.0", 1);
  const auto verdicts = Judged(StandinNode(1));
  EXPECT_EQ(verdicts.at("to_host gpu0").reading.note, "memory of node1");
}

TEST_F(GpuPartTest, OneThatFailsInTheMiddleIsBadAndTheOthersAreMeasured) {
  json node = StandinNode(2);
  node["gpus"][0]["codes"] = {{"cuLaunchKernel", 214}};
  auto verdicts = Judged(node);
  EXPECT_THAT(Bad(verdicts), ElementsAre("patterns gpu0"));
  EXPECT_THAT(verdicts.at("patterns gpu0").text, HasSubstr("uncorrectable ECC error encountered (214)"));
  EXPECT_THAT(verdicts, Contains(Key("to_host gpu1")));
  node["gpus"][0]["codes"] = {{"cuDevicePrimaryCtxRetain", 214}};
  verdicts = Judged(node);
  EXPECT_THAT(Bad(verdicts), ElementsAre("patterns gpu0"));
  EXPECT_THAT(verdicts, Contains(Key("to_host gpu1")));
}

TEST_F(GpuPartTest, OneThatOthersUseIsNoBadNode) {
  json node = StandinNode(2);
  node["gpus"][1]["codes"] = {{"cuMemAlloc", 2}};
  const StandinGpus gpus(folder_.path(), node);
  const Readings readings = MeasureGpu(OptionsHere());
  ASSERT_FALSE(readings.ok());
  EXPECT_EQ(readings.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(readings.status().message(), HasSubstr("gpu1: cuMemAlloc: out of memory"));
}

TEST_F(GpuPartTest, WithoutAGpuThePartIsLeftOutUnlessItIsAskedFor) {
  Options options = OptionsHere();
  options.cuda_library = "/nowhere/libcuda.so.1";
  const Status asked = RunParts(options, {}, [](const std::vector<Verdict>&) { FAIL() << "there is nothing to tell"; });
  EXPECT_THAT(asked.message(), HasSubstr("gpu: there is no GPU for this process"));
  EXPECT_FALSE(IsLeftOut(options, MeasureGpu(options).status()));
  options.parts.clear();
  EXPECT_TRUE(IsLeftOut(options, MeasureGpu(options).status()));
}

TEST_F(GpuPartTest, ADriverThatDoesNotWorkIsNotLeftOut) {
  json node = StandinNode(1);
  node["init"] = 999;
  const StandinGpus gpus(folder_.path(), node);
  Options options = OptionsHere();
  options.parts.clear();
  const Readings readings = MeasureGpu(options);
  ASSERT_FALSE(readings.ok());
  EXPECT_FALSE(IsLeftOut(options, readings.status()));
  EXPECT_THAT(readings.status().message(), HasSubstr("the GPUs' driver does not work: cuInit: unknown error (999)"));
}

}  // namespace
}  // namespace glim::validate
