#include "sdk/device/runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "sdk/device/testing/device_buffer.h"
#include "sdk/device/testing/gate.h"

namespace glim::device {
namespace {

using testing::DeviceBuffer;
using testing::GatedKernel;
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
  const auto runtime = Runtime::Open(GLIM_STANDIN_CUDA);
  standin_set_version(12020);
  ASSERT_FALSE(runtime.ok());
  EXPECT_THAT(runtime.status().message(), HasSubstr("is version 10.2"));
}

TEST(Runtime, WithoutADeviceThereIsNone) {
  standin_set_devices(0);
  const auto runtime = Runtime::Open(GLIM_STANDIN_CUDA);
  standin_set_devices(1);
  ASSERT_FALSE(runtime.ok());
  EXPECT_EQ(runtime.status().code(), StatusCode::kFailedPrecondition);
}

TEST(Runtime, PointersAreKnownByWhereTheyLie) {
  standin_set_devices(2);
  const auto runtime = Runtime::Open(GLIM_STANDIN_CUDA).value();
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
  const auto runtime = Runtime::Open(GLIM_STANDIN_CUDA).value();
  { const DeviceScope scope(*runtime, 1); }
  EXPECT_EQ(runtime->CurrentDevice().value(), 0);
  standin_set_device_0_in_use(0);
  { const DeviceScope scope(*runtime, 1); }
  EXPECT_EQ(runtime->CurrentDevice().value(), 1);
  standin_set_device_0_in_use(1);
  cudaSetDevice(0);
  standin_set_devices(1);
}

TEST(Runtime, PinningTwiceIsAnErrorInTheRuntimesWords) {
  const auto runtime = Runtime::Open(GLIM_STANDIN_CUDA).value();
  void* const memory = runtime->AllocatePinned(4096);
  const Status status = runtime->Pin(memory, 4096);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("cudaHostRegister: an error of the stand-in (712)"));
  runtime->FreePinned(memory);
}

TEST(Event, IsDoneWhenWhatTheStreamHadIsAndNotLater) {
  const auto runtime = Runtime::Open(GLIM_STANDIN_CUDA).value();
  void* compute = nullptr;
  cudaStreamCreateWithFlags(&compute, 1);
  const DeviceBuffer buffer(64);
  {
    GatedKernel first(compute, buffer.data(), 1, buffer.size());
    const auto event = Event::Record(runtime, 0, compute).value();
    GatedKernel second(compute, buffer.data(), 2, buffer.size());
    standin_settle();
    EXPECT_FALSE(event->Done().value());
    first.Open();
    ASSERT_TRUE(event->Wait().ok());
    EXPECT_TRUE(event->Done().value());
    EXPECT_FALSE(second.done());
  }
  cudaStreamDestroy(compute);
}

}  // namespace
}  // namespace glim::device
