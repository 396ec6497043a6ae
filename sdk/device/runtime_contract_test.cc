// Over the stand-in or a real device (testing/test_cuda.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "sdk/device/runtime.h"
#include "sdk/device/testing/device_buffer.h"
#include "sdk/device/testing/gate.h"

namespace glim::device {
namespace {

using testing::DeviceBuffer;
using testing::GatedKernel;
using ::testing::HasSubstr;
using testing::TestCuda;

TEST(RuntimeContract, ThereIsADeviceAndTheThreadIsOnTheFirst) {
  const Runtime& runtime = *TestCuda::Get().runtime();
  EXPECT_GE(runtime.DeviceCount().value(), 1);
  EXPECT_EQ(runtime.CurrentDevice().value(), 0);
  { const DeviceScope scope(runtime, 0); }
  EXPECT_EQ(runtime.CurrentDevice().value(), 0);
}

TEST(RuntimeContract, PointersAreKnownByWhereTheyLie) {
  const Runtime& runtime = *TestCuda::Get().runtime();
  const DeviceBuffer buffer(1000);
  EXPECT_TRUE(runtime.Find(buffer.data()).on_device);
  EXPECT_TRUE(runtime.Find(buffer.data() + 999).on_device);
  EXPECT_EQ(runtime.Find(buffer.data()).device, 0);
  std::vector<std::byte> host(4096);
  EXPECT_FALSE(runtime.Find(host.data()).on_device);
  ASSERT_TRUE(runtime.Pin(host.data(), host.size()).ok());
  EXPECT_FALSE(runtime.Find(host.data()).on_device) << "pinned memory is the host's";
  runtime.Unpin(host.data());
  EXPECT_FALSE(runtime.Find(nullptr).on_device);
}

TEST(RuntimeContract, PinningTwiceIsAnErrorInTheRuntimesWords) {
  const Runtime& runtime = *TestCuda::Get().runtime();
  std::vector<std::byte> host(1 << 16);
  ASSERT_TRUE(runtime.Pin(host.data(), host.size()).ok());
  const Status status = runtime.Pin(host.data(), host.size());
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("cudaHostRegister: "));
  EXPECT_THAT(status.message(), HasSubstr("(712)"));
  runtime.Unpin(host.data());
  EXPECT_TRUE(runtime.Pin(host.data(), host.size()).ok()) << "an error stays with the call that had it";
  runtime.Unpin(host.data());
}

TEST(RuntimeContract, PinnedMemoryIsTheHosts) {
  const Runtime& runtime = *TestCuda::Get().runtime();
  auto* const memory = static_cast<std::byte*>(runtime.AllocatePinned(10'000));
  ASSERT_NE(memory, nullptr);
  memory[9'999] = std::byte{1};
  EXPECT_FALSE(runtime.Find(memory).on_device);
  runtime.FreePinned(memory);
}

TEST(EventContract, IsDoneWhenWhatTheStreamHadIsAndNotLater) {
  const TestCuda& cuda = TestCuda::Get();
  const StreamHandle compute = cuda.MakeStream();
  const DeviceBuffer buffer(64);
  {
    GatedKernel first(compute, buffer.data(), 1, buffer.size());
    const auto event = Event::Record(cuda.runtime(), 0, compute).value();
    GatedKernel second(compute, buffer.data(), 2, buffer.size());
    cuda.Settle();
    EXPECT_FALSE(event->Done().value());
    first.Open();
    ASSERT_TRUE(event->Wait().ok());
    EXPECT_TRUE(event->Done().value());
    EXPECT_FALSE(second.done());
  }
  cuda.DestroyStream(compute);
}

}  // namespace
}  // namespace glim::device
