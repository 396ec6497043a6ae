// CUDA's driver over the stand-in: what is there, what is broken, and a kernel from its text to its result.
#include "sdk/device/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "sdk/device/testing/standin_node.h"
#include "sdk/device/testing/test_cuda.h"

namespace glim::device {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::StandinGpus;
using testing::StandinNode;

constexpr const char* kDoubled = R"(
.version 6.4
.target sm_60
.address_size 64
.visible .entry doubled(.param .u64 numbers, .param .u32 add)
{
  .reg .b32 %thread, %number, %add;
  .reg .b64 %numbers, %at;
  ld.param.u64 %numbers, [numbers];
  ld.param.u32 %add, [add];
  mov.u32 %thread, %tid.x;
  mul.wide.u32 %at, %thread, 4;
  add.u64 %at, %at, %numbers;
  ld.global.u32 %number, [%at];  // its own number alone
  shl.b32 %number, %number, 1;
  add.u32 %number, %number, %add;
  st.global.u32 [%at], %number;
  ret;
}
)";

class DriverTest : public ::testing::Test {
 protected:
  DriverTest() : folder_(std::filesystem::temp_directory_path() / ("glim-driver-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~DriverTest() override { std::filesystem::remove_all(folder_); }
  std::string folder() const { return folder_.string(); }

 private:
  const std::filesystem::path folder_;
};

TEST_F(DriverTest, WithoutTheLibraryOrWithoutAGpuThereIsNone) {
  const auto missing = Driver::Open("/nowhere/libcuda.so.1");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().reason(), kNoGpu);
  const auto none = Driver::Open(testing::StandinCuda());  // no node is named
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(none.status().reason(), kNoGpu);
}

TEST_F(DriverTest, ThatDoesNotWorkIsAnErrorAndNotNoGpu) {
  auto node = StandinNode(1);
  node["init"] = 802;
  const StandinGpus gpus(folder(), node);
  const auto driver = Driver::Open(testing::StandinCuda());
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(driver.status().reason(), "");
  EXPECT_THAT(driver.status().message(), HasSubstr("system not yet initialized (802)"));
  EXPECT_THAT(driver.status().fix(), HasSubstr("nvidia-smi"));
}

TEST_F(DriverTest, ALibraryThatIsAnotherOneIsRefusedWithWhatItLacks) {
  const auto driver = Driver::Open("libm.so.6");
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().reason(), "");
  EXPECT_THAT(driver.status().message(), HasSubstr("libm.so.6 has no function cu"));
}

TEST_F(DriverTest, AKernelDoesWhatItsTextSays) {
  const StandinGpus gpus(folder(), StandinNode(1));
  const auto driver = Driver::Open(testing::StandinCuda());
  ASSERT_TRUE(driver.ok()) << driver.status().message();
  const auto gpu = Gpu::Open(*driver, 0);
  ASSERT_TRUE(gpu.ok()) << gpu.status().message();
  EXPECT_EQ((*gpu)->pci(), "0000:16:00.0");
  EXPECT_EQ((*gpu)->capability_major(), 8);
  ASSERT_TRUE((*gpu)->Load(kDoubled).ok());
  const auto kernel = (*gpu)->Kernel("doubled");
  ASSERT_TRUE(kernel.ok());
  std::vector<std::uint32_t> numbers = {1, 2, 30};
  const auto memory = (*gpu)->Allocate(12);
  ASSERT_TRUE(memory.ok());
  ASSERT_TRUE((*gpu)->ToDevice(memory->address(), numbers.data(), 12).ok());
  const auto seconds = (*gpu)->SecondsOf(
      [&] { return (*gpu)->Launch(*kernel, 1, 1, 3, KernelArguments().Add(memory->address()).Add(7)); });
  ASSERT_TRUE(seconds.ok()) << seconds.status().message();
  EXPECT_GT(*seconds, 0);
  ASSERT_TRUE((*gpu)->ToHost(numbers.data(), memory->address(), 12).ok());
  ASSERT_TRUE((*gpu)->Finish().ok());
  EXPECT_THAT(numbers, ElementsAre(9, 11, 67));
  EXPECT_EQ((*gpu)->Kernel("halved").status().code(), StatusCode::kNotFound);
}

TEST_F(DriverTest, WhatAKernelMayNotTouchIsAnErrorInTheDriversWords) {
  const StandinGpus gpus(folder(), StandinNode(1));
  const auto driver = Driver::Open(testing::StandinCuda());
  ASSERT_TRUE(driver.ok());
  const auto gpu = Gpu::Open(*driver, 0);
  ASSERT_TRUE(gpu.ok() && (*gpu)->Load(kDoubled).ok());
  const Status status = (*gpu)->Launch(*(*gpu)->Kernel("doubled"), 1, 1, 3, KernelArguments().Add(64).Add(7));
  EXPECT_THAT(status.message(), HasSubstr("cuLaunchKernel: an illegal memory access was encountered (700)"));
  EXPECT_FALSE((*gpu)->Load("no PTX").ok());
}

TEST_F(DriverTest, MemoryThatOthersHaveIsToldApart) {
  const StandinGpus gpus(folder(), StandinNode(1, 64));
  const auto driver = Driver::Open(testing::StandinCuda());
  ASSERT_TRUE(driver.ok());
  const auto gpu = Gpu::Open(*driver, 0);
  ASSERT_TRUE(gpu.ok());
  EXPECT_EQ(*(*gpu)->FreeBytes(), 64u << 10);
  {
    const auto some = (*gpu)->Allocate(48 << 10);
    ASSERT_TRUE(some.ok());
    EXPECT_EQ(*(*gpu)->FreeBytes(), 16u << 10);
    const auto more = (*gpu)->Allocate(17 << 10);
    ASSERT_FALSE(more.ok());
    EXPECT_EQ(more.status().reason(), kGpuIsTaken);
  }
  EXPECT_EQ(*(*gpu)->FreeBytes(), 64u << 10) << "given back with what held it";
}

TEST_F(DriverTest, GpusReachEachOtherOrGoThroughTheHost) {
  auto node = StandinNode(2);
  node["pairs"] = {{"1>0", 0}};
  const StandinGpus gpus(folder(), node);
  const auto driver = Driver::Open(testing::StandinCuda());
  ASSERT_TRUE(driver.ok());
  EXPECT_EQ(*(*driver)->DeviceCount(), 2);
  const auto one = Gpu::Open(*driver, 0), other = Gpu::Open(*driver, 1);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_TRUE(*(*one)->ReachPeer(**other));
  EXPECT_FALSE(*(*other)->ReachPeer(**one));
}

}  // namespace
}  // namespace glim::device
