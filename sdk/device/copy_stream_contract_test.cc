// Over the stand-in or a real device (testing/test_cuda.h): whether copies wait for what they must.
#include "sdk/device/copy_stream.h"

#include <gtest/gtest.h>

#include <atomic>

#include "sdk/device/testing/device_buffer.h"
#include "sdk/device/testing/gate.h"

namespace glim::device {
namespace {

using testing::DeviceBuffer;
using testing::GatedKernel;
using testing::TestCuda;

constexpr std::size_t kContractBytes = 1 << 20;

class CopyStreamContract : public ::testing::Test {
 protected:
  CopyStreamContract() : host_(kContractBytes), buffer_(kContractBytes) {
    EXPECT_TRUE(cuda_.runtime()->Pin(host_.data(), host_.size()).ok());
  }
  ~CopyStreamContract() override {
    copies_.reset();
    cuda_.DestroyStream(compute_);
    cuda_.runtime()->Unpin(host_.data());
  }
  void AllAre(int value) const {
    for (const std::byte byte : host_) ASSERT_EQ(static_cast<int>(byte), value);
  }

  const TestCuda& cuda_ = TestCuda::Get();
  std::unique_ptr<CopyStream> copies_ = CopyStream::Create(cuda_.runtime(), 0).value();
  std::vector<std::byte> host_;
  DeviceBuffer buffer_;
  StreamHandle compute_ = cuda_.MakeStream();
};

TEST_F(CopyStreamContract, AToHostCopyWaitsForTheKernelThatWrites) {
  buffer_.Fill(std::byte{1});
  GatedKernel kernel(compute_, buffer_.data(), 2, kContractBytes);
  ASSERT_TRUE(copies_->WaitFor(compute_).ok());
  const std::uint64_t copy = copies_->ToHost(host_.data(), buffer_.data(), kContractBytes).value();
  cuda_.Settle();
  EXPECT_LT(copies_->Completed().value(), copy);
  AllAre(0);
  kernel.Open();
  ASSERT_TRUE(copies_->Synchronize().ok());
  EXPECT_EQ(copies_->Completed().value(), copy);
  AllAre(2);
}

TEST_F(CopyStreamContract, AToDeviceCopyWaitsForTheKernelThatReads) {
  buffer_.Fill(std::byte{1});
  GatedKernel kernel(compute_, buffer_.data(), 2, kContractBytes);
  ASSERT_TRUE(copies_->WaitFor(compute_).ok());
  std::fill(host_.begin(), host_.end(), std::byte{3});
  (void)copies_->ToDevice(buffer_.data(), host_.data(), kContractBytes).value();
  cuda_.Settle();
  EXPECT_EQ(copies_->Completed().value(), 0u);
  EXPECT_EQ(buffer_.Read()[kContractBytes - 1], std::byte{1});
  kernel.Open();
  ASSERT_TRUE(copies_->Synchronize().ok());
  EXPECT_EQ(buffer_.Read()[kContractBytes - 1], std::byte{3});
}

TEST_F(CopyStreamContract, WhatIsRecordedAfterwardsIsNotWaitedFor) {
  buffer_.Fill(std::byte{1});
  ASSERT_TRUE(copies_->WaitFor(compute_).ok());
  GatedKernel later(compute_, buffer_.data(), 2, kContractBytes);
  (void)copies_->ToHost(host_.data(), buffer_.data(), kContractBytes).value();
  ASSERT_TRUE(copies_->Synchronize().ok());
  AllAre(1);
}

TEST_F(CopyStreamContract, TheComputeStreamWaitsForNoCopy) {
  // The copy waits for a kernel of another stream; what comes after it on the compute stream does not.
  const StreamHandle other_stream = cuda_.MakeStream();
  {
    const DeviceBuffer other(64);
    GatedKernel before(other_stream, buffer_.data(), 2, buffer_.size());
    ASSERT_TRUE(copies_->WaitFor(other_stream).ok());
    (void)copies_->ToHost(host_.data(), buffer_.data(), host_.size()).value();
    cuda_.Fill(compute_, other.data(), 7, other.size());
    cuda_.Synchronize(compute_);  // would hang if it waited for the copy
    EXPECT_EQ(copies_->Completed().value(), 0u);
    before.Open();
    ASSERT_TRUE(copies_->Synchronize().ok());
    AllAre(2);
  }
  cuda_.DestroyStream(other_stream);
}

TEST_F(CopyStreamContract, ManyAreInFlightAndAreDoneInOrder) {
  constexpr std::size_t kChunks = 64;
  constexpr std::size_t kChunk = kContractBytes / kChunks;
  std::vector<std::byte> wanted(kContractBytes);
  for (std::size_t i = 0; i < kContractBytes; ++i) wanted[i] = static_cast<std::byte>(i * 7 >> 3);
  buffer_.Write(wanted);
  for (std::size_t i = 0; i < kChunks; ++i) {
    EXPECT_EQ(copies_->ToHost(host_.data() + i * kChunk, buffer_.data() + i * kChunk, kChunk).value(), i + 1);
  }
  std::uint64_t seen = 0;
  EXPECT_TRUE(testing::Until([&] {
    const std::uint64_t done = copies_->Completed().value();
    EXPECT_GE(done, seen);
    // What is said to be done is there, while later copies may still be on their way.
    for (std::size_t i = seen * kChunk; i < done * kChunk; ++i) EXPECT_EQ(host_[i], wanted[i]);
    seen = done;
    return done == kChunks;
  }));
  EXPECT_EQ(copies_->asked(), kChunks);
}

TEST_F(CopyStreamContract, ANoticeComesWhenTheCopyIsDoneAndNotBefore) {
  std::atomic<int> notices{0};
  const auto notify = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
  GatedKernel kernel(compute_, buffer_.data(), 2, buffer_.size());
  ASSERT_TRUE(copies_->WaitFor(compute_).ok());
  const std::uint64_t copy = copies_->ToHost(host_.data(), buffer_.data(), host_.size()).value();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(copies_->NotifyOnce(notify, &notices).ok());
  cuda_.Settle();
  EXPECT_EQ(notices, 0);
  kernel.Open();
  EXPECT_TRUE(testing::Until([&] { return notices > 0; }));
  EXPECT_EQ(copies_->Completed().value(), copy);
  ASSERT_TRUE(copies_->Synchronize().ok());
  cuda_.Settle();
  EXPECT_EQ(notices, 1) << "once, however often it was asked for";
}

TEST_F(CopyStreamContract, AWrongAddressIsAnErrorAndTheNextCopyIsNone) {
  EXPECT_EQ(copies_->ToHost(host_.data(), nullptr, 64).status().message(), "cudaMemcpyAsync: invalid argument (1)");
  EXPECT_TRUE(copies_->ToHost(host_.data(), buffer_.data(), host_.size()).ok());
  EXPECT_TRUE(copies_->Synchronize().ok());
}

}  // namespace
}  // namespace glim::device
