// Over the stand-in alone, which has versions and devices as a test wants them. (runtime_contract_test.cc has the
// rest.)
#include "sdk/device/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "sdk/device/testing/device_buffer.h"
#include "sdk/device/testing/standin_cuda.h"
#include "sdk/device/testing/test_cuda.h"

namespace glim::device {
namespace {

using testing::DeviceBuffer;
using ::testing::HasSubstr;

TEST(Runtime, AMissingLibraryIsAnErrorThatSaysWhatToDo) {
  const auto runtime = Runtime::Open("/nowhere/libcudart.so.12");
  ASSERT_FALSE(runtime.ok());
  EXPECT_EQ(runtime.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(runtime.status().message(), HasSubstr("/nowhere/libcudart.so.12"));
  EXPECT_THAT(runtime.status().fix(), HasSubstr("libcudart.so"));
}

TEST(Runtime, ALibraryThatIsAnotherOneIsRefusedWithWhatItLacks) {
  const auto runtime = Runtime::Open("libm.so.6");
  ASSERT_FALSE(runtime.ok());
  EXPECT_THAT(runtime.status().message(), HasSubstr("has no function cuda"));
}

TEST(Runtime, AProcessWithoutOneHasNoneLoaded) {
  const auto runtime = Runtime::Loaded();
  ASSERT_FALSE(runtime.ok());
  EXPECT_EQ(runtime.status().code(), StatusCode::kNotFound);
}

TEST(Runtime, VersionsBefore11AreRefused) {
  standin_set_version(10020);
  const auto runtime = Runtime::Open(testing::StandinCuda());
  standin_set_version(12020);
  ASSERT_FALSE(runtime.ok());
  EXPECT_THAT(runtime.status().message(), HasSubstr("is version 10.2"));
}

TEST(Runtime, WithoutADeviceThereIsNone) {
  standin_set_devices(0);
  const auto runtime = Runtime::Open(testing::StandinCuda());
  standin_set_devices(1);
  ASSERT_FALSE(runtime.ok());
  EXPECT_EQ(runtime.status().code(), StatusCode::kFailedPrecondition);
}

TEST(Runtime, PointersAreKnownByWhereTheyLie) {
  standin_set_devices(2);
  const auto runtime = Runtime::Open(testing::StandinCuda()).value();
  {
    const DeviceScope scope(*runtime, 1);
    EXPECT_EQ(runtime->CurrentDevice().value(), 1);
    const DeviceBuffer buffer(1000);
    EXPECT_TRUE(runtime->Find(buffer.data()).on_device);
    EXPECT_TRUE(runtime->Find(buffer.data() + 999).on_device);
    EXPECT_EQ(runtime->Find(buffer.data()).device, 1);
  }
  EXPECT_EQ(runtime->CurrentDevice().value(), 0);
  std::vector<std::byte> host(4096);
  EXPECT_FALSE(runtime->Find(host.data()).on_device);
  ASSERT_TRUE(runtime->Pin(host.data(), host.size()).ok());
  EXPECT_FALSE(runtime->Find(host.data()).on_device) << "pinned memory is the host's";
  runtime->Unpin(host.data());
  EXPECT_FALSE(runtime->Find(nullptr).on_device);
  standin_set_devices(1);
}

TEST(Runtime, AScopeGoesBackUnlessThatWouldTakeADeviceThatNobodyUses) {
  standin_set_devices(2);
  const auto runtime = Runtime::Open(testing::StandinCuda()).value();
  { const DeviceScope scope(*runtime, 1); }
  EXPECT_EQ(runtime->CurrentDevice().value(), 0);
  standin_set_device_0_in_use(0);
  { const DeviceScope scope(*runtime, 1); }
  EXPECT_EQ(runtime->CurrentDevice().value(), 1);
  standin_set_device_0_in_use(1);
  cudaSetDevice(0);
  standin_set_devices(1);
}

}  // namespace
}  // namespace glim::device
