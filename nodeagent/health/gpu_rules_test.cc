// GPUs: errors of memory, links, pace, and one that is gone.
#include "nodeagent/health/gpu_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::nodeagent::health {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

GpuReading Sound(const std::string& pci) {
  GpuReading gpu;
  gpu.pci = pci;
  gpu.corrected = 10;
  gpu.uncorrected = 0;
  gpu.links = {{0, true}, {1, true}, {2, false}};
  gpu.width = gpu.most_width = 16;
  gpu.generation = 1;
  gpu.most_generation = 4;
  return gpu;
}

std::vector<std::string> Names(const std::vector<Finding>& findings) {
  std::vector<std::string> names;
  for (const Finding& f : findings) names.push_back(f.check + " " + f.device);
  return names;
}

TEST(GpuRules, SoundOnesTellNothing) {
  Memory memory;
  for (std::int64_t now = 0; now < 200'000; now += 5000) {
    const Looks looks = LookAtGpus({Sound("a"), Sound("b")}, now, memory);
    EXPECT_THAT(looks.events, IsEmpty());
    EXPECT_THAT(looks.conditions, IsEmpty());
  }
}

TEST(GpuRules, ErrorsOfMemory) {
  Memory memory;
  GpuReading gpu = Sound("a");
  LookAtGpus({gpu}, 0, memory);
  *gpu.corrected += 2;
  *gpu.uncorrected += 1;
  EXPECT_THAT(Names(LookAtGpus({gpu}, 5000, memory).events),
              UnorderedElementsAre("gpu_ecc_corrected a", "gpu_ecc_uncorrected a"));
  EXPECT_THAT(LookAtGpus({gpu}, 10'000, memory).events, IsEmpty());
  gpu.corrected = gpu.uncorrected = 0;  // the driver was loaded anew
  EXPECT_THAT(LookAtGpus({gpu}, 15'000, memory).events, IsEmpty());
  gpu.remap_failed = gpu.reset_pending = true;
  EXPECT_THAT(Names(LookAtGpus({gpu}, 20'000, memory).conditions),
              UnorderedElementsAre("gpu_row_remap_failed a", "gpu_retired_pages_pending a"));
}

TEST(GpuRules, ALinkThatWasActive) {
  Memory memory;
  GpuReading gpu = Sound("a");
  LookAtGpus({gpu}, 0, memory);
  gpu.links[1].active = false;
  const Looks looks = LookAtGpus({gpu}, 5000, memory);
  ASSERT_THAT(Names(looks.conditions), ElementsAre("nvlink_down a")) << "the third one leads nowhere";
  EXPECT_EQ(looks.conditions[0].text, "NVLink 1 is not active any more");
}

TEST(GpuRules, SlownessHasToLast) {
  Memory memory;
  GpuReading gpu = Sound("a");
  gpu.throttled = true;
  gpu.throttled_by = "heat";
  gpu.busy_percent = 90;  // and its PCIe link is as slow as that of one that rests
  EXPECT_THAT(LookAtGpus({gpu}, 0, memory).conditions, IsEmpty());
  EXPECT_THAT(LookAtGpus({gpu}, 60'000, memory).conditions, IsEmpty());
  EXPECT_THAT(Names(LookAtGpus({gpu}, 60'001, memory).conditions), ElementsAre("gpu_throttled a", "pcie_slow a"));
  EXPECT_THAT(LookAtGpus({Sound("a")}, 65'000, memory).conditions, IsEmpty());
  EXPECT_THAT(LookAtGpus({gpu}, 70'000, memory).conditions, IsEmpty()) << "it begins anew";
}

TEST(GpuRules, OneThatWasThereAndIsGone) {
  Memory memory;
  LookAtGpus({Sound("a"), Sound("b")}, 0, memory);
  GpuReading lost = Sound("b");
  lost.lost = true;
  EXPECT_THAT(Names(LookAtGpus({Sound("a"), lost}, 5000, memory).conditions), ElementsAre("gpu_lost b"));
  EXPECT_THAT(Names(LookAtGpus({Sound("a")}, 10'000, memory).conditions), ElementsAre("gpu_lost b"));
  EXPECT_THAT(LookAtGpus({Sound("a"), Sound("b")}, 15'000, memory).conditions, IsEmpty());
  GpuReading unread;
  unread.pci = "b";
  unread.unread = true;
  EXPECT_THAT(LookAtGpus({Sound("a"), unread}, 20'000, memory).conditions, IsEmpty()) << "it is there";
}

}  // namespace
}  // namespace glim::nodeagent::health
