// Over the stand-in for CUDA or a real device (sdk/device/testing/test_cuda.h): tensors on a device are saved as they
// are after what the compute stream had.
#include "sdk/checkpoint/save/device_copier.h"

#include <gtest/gtest.h>

#include <future>

#include "sdk/checkpoint/save/testing/saver_fixture.h"
#include "sdk/device/testing/device_buffer.h"
#include "sdk/device/testing/gate.h"

namespace glim::checkpoint {
namespace {

using device::testing::DeviceBuffer;
using device::testing::GatedKernel;
using device::testing::TestCuda;

class DeviceCopierTest : public SaverFixture {
 protected:
  ~DeviceCopierTest() override { cuda_.DestroyStream(compute_); }

  static SaveTensor OnDevice(const DeviceBuffer& buffer, const std::string& name) {
    SaveTensor tensor;
    tensor.info = {name, DType::kU8, {buffer.size()}};
    tensor.data = buffer.span();
    tensor.on_device = true;
    return tensor;
  }
  SaverOptions DeviceOptions() const {
    SaverOptions options = Options();
    options.device_runtime = cuda_.runtime();
    options.compute_stream = [this](int) { return compute_; };
    return options;
  }

  const TestCuda& cuda_ = TestCuda::Get();
  device::StreamHandle compute_ = cuda_.MakeStream();
};

TEST_F(DeviceCopierTest, TheCopyWaitsForTheKernelThatWritesAndTheCallerForTheCopy) {
  const DeviceBuffer buffer(5'000'001);
  buffer.Fill(std::byte{1});
  const std::vector<SaveTensor> tensors{Bytes(1000, 1, "host"), OnDevice(buffer, "device")};
  const auto saver = Make(DeviceOptions());
  GatedKernel kernel(compute_, buffer.data(), 2, buffer.size());
  const std::uint64_t unpinned = cuda_.UnpinnedCopies();
  auto saving = std::async(std::launch::async, [&] { return saver->SaveAsync(1, tensors, {}, {}); });
  EXPECT_EQ(saving.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  kernel.Open();
  const auto handle = saving.get();
  ASSERT_TRUE(handle.ok()) << handle.status().message();
  buffer.Fill(std::byte{3});  // the next step writes it
  ASSERT_TRUE((*handle)->Wait().ok());
  EXPECT_EQ(Newest("device"), std::vector<std::byte>(buffer.size(), std::byte{2}));
  EXPECT_TRUE(IsIn(Newest("host"), tensors[0]));
  EXPECT_EQ(cuda_.UnpinnedCopies(), unpinned) << "the image is pinned";
}

TEST_F(DeviceCopierTest, MemoryThatGrowsIsPinnedAnew) {
  const auto saver = Make(DeviceOptions());
  const std::uint64_t unpinned = cuda_.UnpinnedCopies();
  std::uint64_t step = 0;
  for (const std::size_t bytes : {1'000u, 9'000'000u, 500u}) {
    const DeviceBuffer buffer(bytes);
    buffer.Write(testing::NoiseOf(bytes, bytes));
    ASSERT_TRUE(Save(*saver, ++step, OnDevice(buffer, "t")).ok());
    EXPECT_EQ(Newest(), testing::NoiseOf(bytes, bytes));
  }
  EXPECT_EQ(cuda_.UnpinnedCopies(), unpinned);
}

}  // namespace
}  // namespace glim::checkpoint
