// Over the stand-in alone. Little goes by GDRCopy: what that must wait for, and which mappings may be kept.
#include "sdk/device/gdr_copy.h"

#include <gtest/gtest.h>

#include "sdk/device/copy_stream.h"
#include "sdk/device/testing/device_buffer.h"
#include "sdk/device/testing/gate.h"
#include "sdk/device/testing/standin_cuda.h"
#include "sdk/device/testing/test_cuda.h"

namespace glim::device {
namespace {

using testing::DeviceBuffer;
using testing::GatedKernel;

std::vector<std::byte> Filled(std::size_t bytes, int value) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

TEST(GdrCopy, AMissingLibraryIsAnError) {
  EXPECT_EQ(GdrCopy::Open("/nowhere/libgdrapi.so.2").status().code(), StatusCode::kUnavailable);
}

TEST(GdrCopy, ADriverThatKeepsMappingsOfMemoryGivenBackIsNotUsed) {
  standin_set_persistent_mappings(1);
  EXPECT_EQ(GdrCopy::Open(testing::StandinCuda()).status().code(), StatusCode::kFailedPrecondition);
  standin_set_persistent_mappings(0);
}

TEST(GdrCopy, CopiesBothWaysAndKeepsTheMapping) {
  const auto gdr = GdrCopy::Open(testing::StandinCuda()).value();
  const DeviceBuffer buffer(200'000);
  const std::uint64_t before = standin_gdr_mappings();
  for (int value = 1; value <= 3; ++value) {
    // Across a page of the device's, and off any alignment.
    const std::vector<std::byte> in = Filled(1001, value);
    ASSERT_TRUE(gdr->ToDevice(buffer.data() + 65'007, in.data(), in.size()));
    std::vector<std::byte> out(1001);
    ASSERT_TRUE(gdr->FromDevice(out.data(), buffer.data() + 65'007, out.size()));
    EXPECT_EQ(out, in);
  }
  EXPECT_EQ(standin_gdr_mappings(), before + 1);
  EXPECT_EQ(buffer.Read()[65'006], std::byte{0});
  EXPECT_EQ(buffer.Read()[65'007 + 1001], std::byte{0});
}

TEST(GdrCopy, MemoryThatWasGivenBackIsMappedAnew) {
  const auto gdr = GdrCopy::Open(testing::StandinCuda()).value();
  std::byte byte{};
  const std::uint64_t before = standin_gdr_mappings();
  for (int round = 0; round < 100; ++round) {
    const DeviceBuffer buffer(1000);
    buffer.Fill(static_cast<std::byte>(round));
    ASSERT_TRUE(gdr->FromDevice(&byte, buffer.data() + 999, 1));
    EXPECT_EQ(byte, static_cast<std::byte>(round));
  }
  EXPECT_EQ(standin_gdr_mappings(), before + 1) << "an address comes again, its old mapping goes";
}

TEST(GdrCopy, AddressesOfTheHostCannotBeMapped) {
  const auto gdr = GdrCopy::Open(testing::StandinCuda()).value();
  std::vector<std::byte> host(10);
  EXPECT_FALSE(gdr->FromDevice(host.data(), host.data(), 5));
}

class LittleCopies : public ::testing::Test {
 protected:
  LittleCopies() : host_(kGdrCopyBytesMax + 1), buffer_(kGdrCopyBytesMax + 1) {
    cudaStreamCreateWithFlags(&compute_, 1);
    EXPECT_TRUE(runtime_->Pin(host_.data(), host_.size()).ok());
  }
  ~LittleCopies() override {
    copies_.reset();
    cudaStreamDestroy(compute_);
    runtime_->Unpin(host_.data());
  }

  std::shared_ptr<const Runtime> runtime_ = Runtime::Open(testing::StandinCuda()).value();
  std::unique_ptr<CopyStream> copies_ =
      CopyStream::Create(runtime_, 0, GdrCopy::Open(testing::StandinCuda()).value()).value();
  std::vector<std::byte> host_;
  DeviceBuffer buffer_;
  void* compute_ = nullptr;
};

TEST_F(LittleCopies, GoByGdrCopyAndMoreByTheStream) {
  const std::uint64_t gdr = standin_gdr_copies();
  const std::uint64_t stream = standin_copies();
  (void)copies_->ToHost(host_.data(), buffer_.data(), kGdrCopyBytesMax).value();
  (void)copies_->ToDevice(buffer_.data(), host_.data(), kGdrCopyBytesMax + 1).value();
  ASSERT_TRUE(copies_->Synchronize().ok());
  EXPECT_EQ(standin_gdr_copies(), gdr + 1);
  EXPECT_EQ(standin_copies(), stream + 1);
}

TEST_F(LittleCopies, WaitForTheKernelThatWrites) {
  GatedKernel kernel(compute_, buffer_.data(), 2, buffer_.size());
  ASSERT_TRUE(copies_->WaitFor(compute_).ok());
  const std::uint64_t copy = copies_->ToHost(host_.data(), buffer_.data(), 100).value();
  standin_settle();
  EXPECT_LT(copies_->Completed().value(), copy);
  EXPECT_EQ(host_[0], std::byte{0});
  kernel.Open();
  ASSERT_TRUE(copies_->Synchronize().ok());
  EXPECT_EQ(host_[99], std::byte{2});
  EXPECT_EQ(host_[100], std::byte{0});
}

TEST_F(LittleCopies, ANoticeComesAtOnceWhereNothingIsWaitedFor) {
  (void)copies_->ToHost(host_.data(), buffer_.data(), 100).value();
  bool noticed = false;
  ASSERT_TRUE(copies_->NotifyOnce([](void* flag) { *static_cast<bool*>(flag) = true; }, &noticed).ok());
  EXPECT_TRUE(noticed);
  EXPECT_EQ(copies_->Completed().value(), 1u);
}

TEST_F(LittleCopies, WaitForTheLargerOnesBeforeThem) {
  buffer_.Fill(std::byte{5});
  standin_allow_copies(0);
  (void)copies_->ToHost(host_.data(), buffer_.data(), kGdrCopyBytesMax + 1).value();
  const std::uint64_t gdr = standin_gdr_copies();
  (void)copies_->ToDevice(buffer_.data(), host_.data(), 1).value();
  standin_settle();
  EXPECT_EQ(copies_->Completed().value(), 0u);
  EXPECT_EQ(standin_gdr_copies(), gdr);
  standin_allow_copies(-1);
  ASSERT_TRUE(copies_->Synchronize().ok());
  EXPECT_EQ(standin_gdr_copies(), gdr + 1);
}

}  // namespace
}  // namespace glim::device
