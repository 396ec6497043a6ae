#include "sdk/hfreduce/tree/chunking.h"

#include <gtest/gtest.h>

namespace glim::hfreduce {
namespace {

TEST(ChunkingTest, ChunksCoverEveryElementOnceAndInOrder) {
  for (const DType type : {DType::kF64, DType::kF32, DType::kBF16, DType::kF8E5M2}) {
    for (const std::size_t elements : {0u, 1u, 15u, 4096u, 4097u, 65537u, 1u << 20, (1u << 24) + 3}) {
      const Chunking chunking = ChunkingOf(type, elements);
      std::size_t next = 0;
      for (int half = 0; half < 2; ++half) {
        for (std::uint32_t chunk = 0; chunk < chunking.ChunksOf(half); ++chunk) {
          const Range range = chunking.RangeOf(half, chunk);
          EXPECT_EQ(range.begin, next);
          EXPECT_TRUE(range.count > 0 || elements == 0);
          EXPECT_LE(range.count * SizeOf(type), kChunkBytesMax);
          EXPECT_EQ(range.begin * SizeOf(type) % 64, 0u);
          next += range.count;
        }
      }
      EXPECT_EQ(next, elements);
    }
  }
}

TEST(ChunkingTest, ALittleIsOneChunkAndNothingIsAnEmptyOne) {
  for (const std::size_t elements : {0u, 1u, 1024u}) {
    const Chunking chunking = ChunkingOf(DType::kF32, elements);
    EXPECT_EQ(chunking.ChunksOf(0), 1u);
    EXPECT_EQ(chunking.ChunksOf(1), 0u);
    EXPECT_EQ(chunking.RangeOf(0, 0).count, elements);
  }
  EXPECT_EQ(OneChunk(100'000).ChunksOf(0), 1u);
}

TEST(ChunkingTest, BothHalvesAreAsLargeAndFillAPipeline) {
  const Chunking chunking = ChunkingOf(DType::kF32, std::size_t{186} << 18);
  EXPECT_NEAR(static_cast<double>(chunking.split), static_cast<double>(chunking.elements) / 2, 16);
  EXPECT_EQ(chunking.ChunksOf(0), 93u);
  EXPECT_EQ(ChunkingOf(DType::kF32, std::size_t{16} << 18).ChunksOf(1), 16u);
}

TEST(ChunkingTest, EdgesDependOnBytesAlone) {
  const Chunking floats = ChunkingOf(DType::kF32, 1'000'000);
  const Chunking bytes = ChunkingOf(DType::kF8E4M3, 4'000'000);
  EXPECT_EQ(floats.split * 4, bytes.split);
  EXPECT_EQ(floats.chunk_elements * 4, bytes.chunk_elements);
}

}  // namespace
}  // namespace glim::hfreduce
