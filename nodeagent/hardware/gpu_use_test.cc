#include "nodeagent/hardware/gpu_use.h"

#include <gmock/gmock.h>

namespace glim::nodeagent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::int64_t kMiB = 1 << 20;

GpuUse Gpu(std::uint32_t index, std::int64_t used_mib, std::vector<GpuProcess> processes = {}) {
  return {index, "GPU-" + std::to_string(index), "", used_mib * kMiB, std::move(processes)};
}

TEST(GpuUse, IsReadAsItWasWritten) {
  NodeUse use{"", {Gpu(0, 500, {{7, 3 * kMiB}, {8, -1}}), Gpu(1, 4)}};
  use.gpus[1].error = "GPU is lost";
  const Result<UseAnswer> read = ParseUse(ToLine(42, use));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->number, 42u);
  EXPECT_EQ(read->use, use);
  EXPECT_EQ(ParseUse("").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(ParseUse("{\"number\": 1}").status().code(), StatusCode::kDataLoss);
}

TEST(GpuUse, GpusAsBeforeAreEmpty) {
  const NodeUse before{"", {Gpu(0, 500, {{7, -1}}), Gpu(1, 4)}};
  EXPECT_TRUE(LeftOnGpus(before, &before).empty());
  const NodeUse slack{"", {Gpu(0, 500 + 256, {{7, -1}}), Gpu(1, 0)}};
  EXPECT_TRUE(LeftOnGpus(slack, &before).empty()) << "a driver keeps a little";
}

TEST(GpuUse, AProcessThatWasNotThereIsLeft) {
  const NodeUse before{"", {Gpu(0, 500, {{7, -1}}), Gpu(1, 4)}};
  const GpuLeft left = LeftOnGpus({"", {Gpu(0, 500, {{7, -1}, {9, 300 * kMiB}, {10, -1}}), Gpu(1, 4)}}, &before);
  EXPECT_EQ(left.evidence,
            "its processes are gone, but its GPUs are not empty: GPU 0 (GPU-0): 500 MiB used, 500 MiB before the task, "
            "processes 9 (300 MiB), 10");
  EXPECT_THAT(left.pids, ElementsAre(9, 10));
}

TEST(GpuUse, MemoryBeyondTheSlackIsLeftThoughNobodyHoldsIt) {
  const NodeUse before{"", {Gpu(0, 500), Gpu(1, 4)}};
  const GpuLeft left = LeftOnGpus({"", {Gpu(0, 500 + 257), Gpu(1, 3000)}}, &before);
  EXPECT_THAT(left.evidence, HasSubstr("GPU 0 (GPU-0): 757 MiB used, 500 MiB before the task, no process is known; "
                                       "GPU 1 (GPU-1): 3000 MiB used, 4 MiB before the task"));
  EXPECT_THAT(left.pids, SizeIs(0));
}

TEST(GpuUse, WhereNobodyKnowsWhatWasBeforeAProcessOrAGigabyteIsLeft) {
  EXPECT_TRUE(LeftOnGpus({"", {Gpu(0, 1024)}}, nullptr).empty());
  EXPECT_FALSE(LeftOnGpus({"", {Gpu(0, 1025)}}, nullptr).empty());
  EXPECT_FALSE(LeftOnGpus({"", {Gpu(0, 4, {{9, -1}})}}, nullptr).empty());
}

TEST(GpuUse, WhatCannotBeAskedIsNotEmpty) {
  const NodeUse before{"", {Gpu(0, 4), Gpu(1, 4)}};
  NodeUse lost{"", {Gpu(0, 4), Gpu(1, 0)}};
  lost.gpus[1].uuid.clear();
  lost.gpus[1].error = "GPU is lost";
  EXPECT_THAT(LeftOnGpus(lost, &before).evidence, HasSubstr("GPU 1 does not say who uses it: GPU is lost"));
  EXPECT_THAT(LeftOnGpus({"", {Gpu(0, 4)}}, &before).evidence, HasSubstr("GPU 1 (GPU-1) is not there any more"));
  EXPECT_THAT(LeftOnGpus({"no driver", {}}, &before).evidence, HasSubstr("is not known: no driver"));
}

TEST(GpuUse, EvidenceIsBounded) {
  std::vector<GpuProcess> many;
  for (int pid = 100; pid < 200; ++pid) many.push_back({pid, -1});
  const GpuLeft left = LeftOnGpus({"", {Gpu(0, 4, many)}}, nullptr);
  EXPECT_THAT(left.pids, SizeIs(32));
  EXPECT_THAT(left.evidence, HasSubstr("106, 107 and 92 more"));
}

}  // namespace
}  // namespace glim::nodeagent
