#include "sdk/checkpoint/save/copier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "sdk/base/rng.h"
#include "sdk/checkpoint/io/stream_copy.h"
#include "sdk/checkpoint/save/device_copier.h"
#include "sdk/checkpoint/save/image_pool.h"
#include "sdk/checkpoint/save/testing/ranks.h"

namespace glim::checkpoint {
namespace {

using testing::NoiseOf;

TEST(StreamCopy, CopiesAllBytesAndNoOtherFromAnyPlaceToAnyPlace) {
  const std::vector<std::byte> source = NoiseOf(200'000, 1);
  const std::vector<std::byte> before = NoiseOf(200'000, 2);
  Rng rng(3);
  for (int i = 0; i < 400; ++i) {
    const auto upto = [&](std::int64_t max) { return static_cast<std::size_t>(rng.Between(0, max)); };
    const std::size_t from = upto(300);
    const std::size_t to = upto(300);
    const std::size_t bytes = i < 100 ? upto(3000) : upto(190'000);
    std::vector<std::byte> place = before;
    StreamCopy(place.data() + to, source.data() + from, bytes);
    std::vector<std::byte> wanted = before;
    std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), bytes,
                wanted.begin() + static_cast<std::ptrdiff_t>(to));
    ASSERT_TRUE(place == wanted) << bytes << " bytes from " << from << " to " << to;
  }
}

TEST(CopyRanges, ThreadsShareTheBytesAndNoneIsLeftOut) {
  const std::vector<std::byte> large = NoiseOf(40'000'001, 4);
  const std::vector<std::byte> small = NoiseOf(77, 5);
  std::vector<SaveTensor> tensors(2);
  tensors[0].data = small;
  tensors[1].data = large;
  const std::vector<CopyRange> copies{
      {1, 5, 4096, 30'000'000}, {0, 0, 30'004'096, 77}, {1, 30'000'005, 30'004'173, 9'999'996}};
  std::vector<std::byte> wanted(40'004'169);
  for (const CopyRange& copy : copies) {
    std::copy_n(tensors[copy.tensor].data.begin() + static_cast<std::ptrdiff_t>(copy.from), copy.bytes,
                wanted.begin() + static_cast<std::ptrdiff_t>(copy.to));
  }
  for (const std::uint32_t threads : {1u, 2u, 3u, 8u}) {
    std::vector<std::byte> image(wanted.size());
    std::uint64_t told = 0;
    CopyRanges(image, tensors, copies, threads, [&](std::uint64_t end) {
      EXPECT_GT(end, told);
      told = end;
      ASSERT_EQ(std::memcmp(image.data(), wanted.data(), end), 0)
          << "what was told of is there, " << threads << " threads";
    });
    EXPECT_EQ(told, wanted.size());
  }
}

TEST(ImagePool, HasAlignedImagesSideBySideAndKeepsThem) {
  ImagePool pool(2);
  EXPECT_FALSE(pool.Fits(1));
  ASSERT_TRUE(pool.Grow(3'000'000).ok());
  EXPECT_TRUE(pool.Fits(3'000'000));
  EXPECT_FALSE(pool.Fits(100'000'000));
  const std::span<std::byte> first = pool.image(0);
  const std::span<std::byte> second = pool.image(1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % 4096, 0u);
  EXPECT_EQ(first.size() % 4096, 0u);
  EXPECT_EQ(first.data() + first.size(), second.data());
  EXPECT_EQ(pool.memory().size(), first.size() + second.size());
  second.back() = std::byte{7};
  pool.Prefault();
  EXPECT_EQ(second.back(), std::byte{7}) << "touching pages changes nothing in them";
}

TEST(ImagePool, SaysWhenThereIsNoSuchMemoryAndWorksAgain) {
  ImagePool pool(1);
  const Status status = pool.Grow(std::uint64_t{1} << 60);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(pool.Fits(1));
  EXPECT_TRUE(pool.Grow(1).ok());
  EXPECT_TRUE(pool.Fits(1));
}

// This process has none. What copies from devices is tested beside it (device_copier_test.cc).
TEST(DeviceCopier, WithoutARuntimeTensorsOnADeviceAreRefused) {
  DeviceCopier copier(nullptr, {});
  std::vector<std::byte> image(10);
  std::vector<SaveTensor> tensors(1);
  tensors[0].data = image;
  tensors[0].on_device = true;
  const std::vector<CopyRange> copies{{0, 0, 0, 10}};
  const Status status = copier.Copy(image, image, tensors, copies);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status.message();
  EXPECT_TRUE(copier.Copy(image, image, {}, {}).ok()) << "nothing of it is asked for";
}

}  // namespace
}  // namespace glim::checkpoint
