// Over the stand-in alone, which holds copies up: nothing waits for them. (copy_stream_contract_test.cc has the rest.)
#include "sdk/device/copy_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "sdk/device/testing/device_buffer.h"
#include "sdk/device/testing/gate.h"
#include "sdk/device/testing/standin_cuda.h"
#include "sdk/device/testing/test_cuda.h"

namespace glim::device {
namespace {

using testing::DeviceBuffer;
using testing::GatedKernel;

constexpr std::size_t kBytes = 1 << 20;

class CopyStreamTest : public ::testing::Test {
 protected:
  CopyStreamTest() : host_(kBytes), buffer_(kBytes) {
    cudaStreamCreateWithFlags(&compute_, 1);
    EXPECT_TRUE(runtime_->Pin(host_.data(), host_.size()).ok());
  }
  ~CopyStreamTest() override {
    standin_allow_copies(-1);
    copies_.reset();
    cudaStreamDestroy(compute_);
    runtime_->Unpin(host_.data());
  }
  void AllAre(int value) const {
    for (const std::byte byte : host_) ASSERT_EQ(static_cast<int>(byte), value);
  }

  std::shared_ptr<const Runtime> runtime_ = Runtime::Open(testing::StandinCuda()).value();
  std::unique_ptr<CopyStream> copies_ = CopyStream::Create(runtime_, 0).value();
  std::vector<std::byte> host_;
  DeviceBuffer buffer_;
  void* compute_ = nullptr;
};

TEST_F(CopyStreamTest, TheStandInCatchesACopyThatWaitsForNothing) {
  buffer_.Fill(std::byte{1});
  GatedKernel kernel(compute_, buffer_.data(), 2, kBytes);
  (void)copies_->ToHost(host_.data(), buffer_.data(), kBytes).value();
  standin_settle();
  kernel.Open();
  ASSERT_TRUE(copies_->Synchronize().ok());
  AllAre(1);
}

TEST_F(CopyStreamTest, TheComputeStreamGoesOnWhileCopiesStandStill) {
  standin_allow_copies(0);
  ASSERT_TRUE(copies_->WaitFor(compute_).ok());
  (void)copies_->ToHost(host_.data(), buffer_.data(), kBytes).value();
  DeviceBuffer other(64);
  GatedKernel later(compute_, other.data(), 7, other.size());
  later.Open();
  cudaStreamSynchronize(compute_);  // would hang if it waited for the copy
  EXPECT_TRUE(later.done());
  EXPECT_EQ(copies_->Completed().value(), 0u);
}

TEST_F(CopyStreamTest, ManyAreInFlightAndAreDoneInOrder) {
  constexpr std::size_t kChunks = 64;
  constexpr std::size_t kChunk = kBytes / kChunks;
  std::vector<std::byte> wanted(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) wanted[i] = static_cast<std::byte>(i * 7 >> 3);
  buffer_.Write(wanted);
  standin_allow_copies(0);
  for (std::size_t i = 0; i < kChunks; ++i) {
    EXPECT_EQ(copies_->ToHost(host_.data() + i * kChunk, buffer_.data() + i * kChunk, kChunk).value(), i + 1);
  }
  for (std::size_t done = 1; done <= kChunks; done += 9) {
    standin_allow_copies(done == 1 ? 1 : 9);
    standin_settle();
    EXPECT_EQ(copies_->Completed().value(), done);
  }
  EXPECT_EQ(copies_->asked(), kChunks);
  EXPECT_EQ(host_, wanted);
}

TEST_F(CopyStreamTest, ANoticeComesWhenTheFirstCopyIsDoneAndOnce) {
  std::atomic<int> notices{0};
  const auto notify = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
  ASSERT_TRUE(copies_->NotifyOnce(notify, &notices).ok());
  standin_settle();
  EXPECT_EQ(notices, 0) << "nothing is in flight";
  standin_allow_copies(0);
  for (int i = 0; i < 2; ++i) (void)copies_->ToHost(host_.data(), buffer_.data(), kBytes).value();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(copies_->NotifyOnce(notify, &notices).ok());
  standin_settle();
  EXPECT_EQ(notices, 0);
  standin_allow_copies(1);
  while (notices == 0) std::this_thread::yield();  // the test's own limit ends it
  EXPECT_EQ(copies_->Completed().value(), 1u);
  ASSERT_TRUE(copies_->NotifyOnce(notify, &notices).ok());
  standin_allow_copies(1);
  while (notices == 1) std::this_thread::yield();
  EXPECT_EQ(copies_->Completed().value(), 2u);
}

TEST_F(CopyStreamTest, AWrongAddressIsAnErrorAndTheNextCopyIsNone) {
  std::vector<std::byte> other(64);
  EXPECT_EQ(copies_->ToHost(host_.data(), other.data(), 64).status().message(),
            "cudaMemcpyAsync: invalid argument (1)");
  EXPECT_TRUE(copies_->ToHost(host_.data(), buffer_.data(), kBytes).ok());
  EXPECT_TRUE(copies_->Synchronize().ok());
}

}  // namespace
}  // namespace glim::device
