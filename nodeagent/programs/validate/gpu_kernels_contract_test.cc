// Each kernel does what gpu_kernels.h says, compared with the same worked out on the CPU: over the machine's own GPU
// with GLIM_TEST_CUDA, else over the stand-in, which executes the kernels' text.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "nodeagent/programs/validate/gpu_answer.h"
#include "nodeagent/programs/validate/gpu_kernels.h"
#include "nodeagent/programs/validate/gpu_memory.h"
#include "nodeagent/programs/validate/gpu_tensor_kernels.h"
#include "nodeagent/programs/validate/pattern.h"
#include "sdk/device/testing/standin_node.h"
#include "sdk/device/testing/test_cuda.h"
#include "sdk/io/testing/temp_folder.h"

namespace glim::validate {
namespace {

class GpuKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    const bool real = device::testing::CudaIsReal();
    if (!real) standin_.emplace(folder_.path(), device::testing::StandinNode(1, 4096));
    const auto driver = device::Driver::Open(real ? device::kDriverLibrary : device::testing::CudaRuntime());
    ASSERT_TRUE(driver.ok()) << driver.status().message();
    auto gpu = device::Gpu::Open(*driver, 0);
    ASSERT_TRUE(gpu.ok()) << gpu.status().message();
    gpu_ = std::move(*gpu);
    ASSERT_TRUE(gpu_->Load(kGpuKernels).ok());
    auto result = gpu_->Allocate(sizeof(Mismatches));
    ASSERT_TRUE(result.ok());
    result_.emplace(std::move(*result));
    ASSERT_TRUE(ClearMismatches(*gpu_, *result_).ok());
  }

  template <typename T>
  device::GpuMemory OnGpu(const std::vector<T>& values) {
    auto memory = gpu_->Allocate(values.size() * sizeof(T));
    EXPECT_TRUE(memory.ok()) << memory.status().message();
    EXPECT_TRUE(gpu_->ToDevice(memory->address(), values.data(), memory->bytes()).ok());
    EXPECT_TRUE(gpu_->Finish().ok());
    return std::move(*memory);
  }
  template <typename T>
  std::vector<T> From(const device::GpuMemory& memory) {
    std::vector<T> values(memory.bytes() / sizeof(T));
    EXPECT_TRUE(gpu_->ToHost(values.data(), memory.address(), memory.bytes()).ok());
    EXPECT_TRUE(gpu_->Finish().ok());
    return values;
  }
  Mismatches Found() {
    const Result<Mismatches> found = MismatchesIn(*gpu_, *result_);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return *found;
  }
  void Multiply(const char* kernel, unsigned columns_of_a_block, std::uint32_t side,
                device::KernelArguments arguments) {
    const auto found = gpu_->Kernel(kernel);
    ASSERT_TRUE(found.ok());
    ASSERT_TRUE(gpu_->Launch(*found, side / columns_of_a_block, side / 64, kThreadsOfABlock, arguments).ok());
  }
  Mismatches Compared(const device::GpuMemory& c, const device::GpuMemory& reference, std::uint32_t side) {
    device::KernelArguments arguments;
    arguments.Add(c.address()).Add(reference.address()).Add(result_->address()).Add(std::countr_zero(side));
    EXPECT_TRUE(gpu_->Launch(*gpu_->Kernel("glim_compare"), 3, 1, kThreadsOfABlock, arguments).ok());
    return Found();
  }

  const TempFolder folder_;
  std::optional<device::testing::StandinGpus> standin_;
  std::unique_ptr<device::Gpu> gpu_;
  std::optional<device::GpuMemory> result_;
};

TEST_F(GpuKernels, WriteTheWordsOfEachPattern) {
  constexpr std::uint64_t kFirst = 1'000'003;
  for (const Pattern pattern : kPatterns) {
    const auto memory = OnGpu(std::vector<std::uint64_t>(10'001));
    const auto number = static_cast<std::uint32_t>(pattern);
    ASSERT_TRUE(AskWords(*gpu_, memory.address(), 10'000, number, kFirst, nullptr).ok());
    std::vector<std::uint64_t> wanted(10'001);
    Fill(std::span(wanted).first(10'000), pattern, kFirst);
    EXPECT_EQ(From<std::uint64_t>(memory), wanted) << ToString(pattern) << "; and nothing behind them";
    ASSERT_TRUE(AskWords(*gpu_, memory.address(), 10'000, number, kFirst, &*result_).ok());
    EXPECT_EQ(Found().count, 0u) << ToString(pattern);
  }
}

TEST_F(GpuKernels, FindEachWrongWordAndTellTheFirst) {
  std::vector<std::uint64_t> words(5000);
  Fill(words, Pattern::kRandom, 7);
  words[4999] ^= 1ULL << 63;
  words[123] ^= 4;
  words[124] ^= 4;
  const auto memory = OnGpu(words);
  ASSERT_TRUE(AskWords(*gpu_, memory.address(), 5000, static_cast<std::uint32_t>(Pattern::kRandom), 7, &*result_).ok());
  const Mismatches found = Found();
  EXPECT_EQ(found.count, 3u);
  EXPECT_EQ(found.first, 123u);
  EXPECT_EQ(found.bits, (1ULL << 63) | 4);
}

// Not the same matrix twice: a kernel that mixes up rows and columns, or the two, has another product.
TEST_F(GpuKernels, MultiplyInSinglePrecisionBitForBit) {
  constexpr std::uint32_t kSide = kPeriod;
  const auto a = RowsF32(1, kSide), b = RowsF32(2, kSide);
  const auto on_a = OnGpu(a), on_b = OnGpu(b);
  const auto c = OnGpu(std::vector<std::uint32_t>(kSide * kSide));
  device::KernelArguments arguments;
  arguments.Add(on_a.address()).Add(on_b.address()).Add(c.address()).Add(kSide);
  Multiply("glim_multiply_f32", 64, kSide, arguments);
  EXPECT_EQ(From<std::uint32_t>(c), ProductF32(a, b));
}

TEST_F(GpuKernels, MultiplyWholeNumbersExactlyByTensorCores) {
  if (gpu_->capability_major() < 8) GTEST_SKIP() << "absent: tensor cores for bfloat16";
  ASSERT_TRUE(gpu_->Load(kGpuTensorKernels).ok());
  constexpr std::uint32_t kSide = kPeriod, kRepeat = 3;
  const auto a = RowsBf16(1, kSide), b = RowsBf16(2, kSide);
  const auto on_a = OnGpu(a), on_b = OnGpu(b);
  const auto c = OnGpu(std::vector<std::uint32_t>(kSide * kSide));
  device::KernelArguments arguments;
  arguments.Add(on_a.address()).Add(on_b.address()).Add(c.address()).Add(kSide).Add(kRepeat);
  Multiply("glim_multiply_bf16", 128, kSide, arguments);
  EXPECT_EQ(From<std::uint32_t>(c), ProductBf16(a, b, kRepeat));
}

TEST_F(GpuKernels, CompareAProductWithWhatItRepeats) {
  constexpr std::uint32_t kSide = 2 * kPeriod;
  std::vector<std::uint32_t> reference(kPeriod * kPeriod), c(kSide * kSide);
  for (std::size_t i = 0; i < reference.size(); ++i) reference[i] = static_cast<std::uint32_t>(i * 2'654'435'761U);
  for (std::size_t i = 0; i < c.size(); ++i) {
    c[i] = reference[i / kSide % kPeriod * kPeriod + i % kSide % kPeriod];
  }
  const auto on_reference = OnGpu(reference);
  EXPECT_EQ(Compared(OnGpu(c), on_reference, kSide).count, 0u);
  c[200 * kSide + 130] ^= 8;
  c[255 * kSide + 255] ^= 1;
  const Mismatches found = Compared(OnGpu(c), on_reference, kSide);
  EXPECT_EQ(found.count, 2u);
  EXPECT_EQ(found.first, 200 * kSide + 130);
  EXPECT_EQ(found.bits, 9u);
}

}  // namespace
}  // namespace glim::validate
