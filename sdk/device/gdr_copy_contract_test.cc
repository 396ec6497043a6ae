// Over the stand-in or, where the machine has GDRCopy's driver, a real device (testing/test_cuda.h).
#include "sdk/device/gdr_copy.h"

#include <gtest/gtest.h>

#include "sdk/device/testing/device_buffer.h"

namespace glim::device {
namespace {

using testing::DeviceBuffer;

TEST(GdrCopyContract, CopiesBothWaysOffAnyAlignment) {
  const DeviceBuffer buffer(200'000);
  buffer.Fill(std::byte{0});
  const auto gdr = GdrCopy::Open(testing::CudaIsReal() ? "" : testing::CudaRuntime());
  if (!gdr.ok()) {
    // Optional on a real machine, and then nothing was tested: the runner lists this as absent.
    ASSERT_TRUE(testing::CudaIsReal()) << gdr.status().message();
    GTEST_SKIP() << "absent: GDRCopy: " << gdr.status().message();
  }
  for (int value = 1; value <= 3; ++value) {
    const std::vector<std::byte> in(1001, static_cast<std::byte>(value));
    ASSERT_TRUE((*gdr)->ToDevice(buffer.data() + 65'007, in.data(), in.size()));
    std::vector<std::byte> out(1001);
    ASSERT_TRUE((*gdr)->FromDevice(out.data(), buffer.data() + 65'007, out.size()));
    EXPECT_EQ(out, in);
  }
  EXPECT_EQ(buffer.Read()[65'006], std::byte{0});
  EXPECT_EQ(buffer.Read()[65'007 + 1001], std::byte{0});
}

}  // namespace
}  // namespace glim::device
