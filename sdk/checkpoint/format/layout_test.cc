#include "sdk/checkpoint/format/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "sdk/base/rng.h"
#include "sdk/checkpoint/format/manifest_json.h"
#include "sdk/checkpoint/format/manifest_merge.h"
#include "sdk/checkpoint/format/shard_header.h"
#include "sdk/checkpoint/format/testing/sample.h"

namespace glim::checkpoint {
namespace {

using testing::Job;
using testing::kMiB;
using testing::PartOf;
using testing::RandomJob;
using testing::Replicated;

// Where in the whole tensor this process's data begins.
std::uint64_t Begin(const SaveTensor& tensor) {
  if (tensor.placement != Placement::kRows || tensor.data.empty()) return 0;
  return tensor.data.size() / tensor.rows.count * tensor.rows.first;
}

// The header describes the file, and the copies fill it.
void ExpectSound(const ShardLayout& layout, const std::vector<SaveTensor>& tensors) {
  const auto header = ParseShardHeader(layout.header, layout.file_bytes);
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->data_start, layout.header.size());
  EXPECT_EQ(layout.header.size() % kDataAlignment, 0u);
  std::map<std::uint64_t, ShardEntry> arrays;
  for (const ShardEntry& array : header->entries) {
    if (array.end > array.begin) arrays[header->data_start + array.begin] = array;
  }
  std::uint64_t to = layout.header.size();
  for (const CopyRange& copy : layout.copies) {
    const SaveTensor& tensor = tensors.at(copy.tensor);
    EXPECT_EQ(copy.to, to);
    EXPECT_LE(copy.from + copy.bytes, tensor.data.size());
    EXPECT_EQ(copy.to % SizeOf(tensor.info.dtype), 0u) << "aligned to its elements";
    EXPECT_TRUE(copy.bytes % kDataAlignment != 0 || copy.to % kDataAlignment == 0);
    const ShardEntry& array = arrays.at(copy.to);
    EXPECT_EQ(array.end - array.begin, copy.bytes);
    EXPECT_EQ(array.dtype, tensor.info.dtype);
    EXPECT_EQ(array.name.substr(0, tensor.info.name.size()), tensor.info.name);
    to += copy.bytes;
  }
  EXPECT_EQ(to, layout.file_bytes);
  EXPECT_EQ(arrays.size(), layout.copies.size());
}

// Each byte of `entry` is in one piece, and lies where a rank was told to copy that byte.
void ExpectEveryByteOnce(const TensorEntry& entry, const std::vector<ShardLayout>& layouts, const Job& job) {
  std::uint64_t at = 0;
  for (const Piece& piece : entry.pieces) {
    EXPECT_EQ(piece.at, at);
    at += piece.bytes;
    const std::vector<CopyRange>& copies = layouts.at(piece.shard).copies;
    const auto copy =
        std::find_if(copies.begin(), copies.end(), [&](const CopyRange& range) { return range.to == piece.offset; });
    ASSERT_NE(copy, copies.end());
    const SaveTensor& tensor = job.at(piece.shard).at(copy->tensor);
    EXPECT_EQ(tensor.info, entry.info);
    EXPECT_EQ(copy->bytes, piece.bytes);
    EXPECT_EQ(Begin(tensor) + copy->from, piece.at);
  }
  EXPECT_EQ(at, *entry.info.bytes());
}

TEST(LayOut, PlacesEveryByteOfEveryTensorOnce) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto world = static_cast<std::uint32_t>(1 + seed % 16);
    const Job job = RandomJob(rng, {.world = world});
    std::vector<ShardLayout> layouts;
    std::vector<Manifest> parts;
    std::set<std::string> names;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      const auto layout = LayOut(job[rank], rank, world, kChunkBytes * (1 + seed % 3));
      ASSERT_TRUE(layout.ok()) << layout.status().message();
      ExpectSound(*layout, job[rank]);
      layouts.push_back(*layout);
      parts.push_back(PartOf(*layout, rank, world));
      for (const SaveTensor& tensor : job[rank]) names.insert(tensor.info.name);
    }
    const auto merged = Merge(std::move(parts));
    ASSERT_TRUE(merged.ok()) << merged.status().message();
    ASSERT_EQ(merged->tensors.size(), names.size());
    for (const TensorEntry& entry : merged->tensors) {
      EXPECT_EQ(names.count(entry.info.name), 1u);
      EXPECT_EQ(merged->Find(entry.info.name), &entry);
      ExpectEveryByteOnce(entry, layouts, job);
    }
    const auto again = ParseManifest(ToJson(*merged));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, *merged);
    if (HasFailure()) return;
  }
}

TEST(LayOut, RanksShareWhatAllHoldAlike) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Rng rng(seed);
    const auto world = static_cast<std::uint32_t>(rng.Between(2, 16));
    std::vector<SaveTensor> tensors;
    std::uint64_t total = 0;
    for (std::int64_t i = rng.Between(1, 60); i > 0; --i) {
      const auto elements = static_cast<std::uint64_t>(rng.OneIn(3) ? rng.Between(1, 60 << 20) : rng.Between(1, 5000));
      tensors.push_back(Replicated("t" + std::to_string(i), DType::kF32, {elements}));
      total += 4 * elements;
    }
    std::uint64_t written = 0;
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      const auto layout = LayOut(tensors, rank, world, kChunkBytes);
      ASSERT_TRUE(layout.ok());
      const std::uint64_t bytes = layout->file_bytes - layout->header.size();
      written += bytes;
      EXPECT_LE(bytes, total / world + kChunkBytes) << "seed " << seed;
      EXPECT_GE(bytes + kChunkBytes, total / world) << "seed " << seed;
    }
    EXPECT_EQ(written, total);
  }
}

TEST(LayOut, CutsOnlyWhatIsLargerThanAPart) {
  const std::vector<SaveTensor> tensors = {Replicated("a", DType::kU8, {8 * kMiB}),
                                           Replicated("b", DType::kU8, {8 * kMiB}),
                                           Replicated("c", DType::kU8, {24 * kMiB})};
  std::map<std::string, std::vector<std::pair<std::uint64_t, std::uint64_t>>> pieces;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const auto layout = LayOut(tensors, rank, 4, 8 * kMiB);
    ASSERT_TRUE(layout.ok());
    for (const TensorEntry& entry : layout->entries) {
      for (const Piece& piece : entry.pieces) pieces[entry.info.name].emplace_back(piece.at / kMiB, piece.bytes / kMiB);
    }
  }
  using Pieces = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  EXPECT_EQ(pieces["a"], (Pieces{{0, 8}}));
  EXPECT_EQ(pieces["b"], (Pieces{{0, 8}}));
  EXPECT_EQ(pieces["c"], (Pieces{{0, 16}, {16, 8}}));
}

TEST(LayOut, AloneARankCutsNothing) {
  Rng rng(5);
  std::vector<SaveTensor> tensors = {Replicated("large", DType::kF32, {100 * kMiB}), Replicated("x", DType::kI64, {})};
  const auto layout = LayOut(tensors, 0, 1, kChunkBytes);
  ASSERT_TRUE(layout.ok());
  const auto header = ParseShardHeader(layout->header, layout->file_bytes);
  ASSERT_EQ(header->entries.size(), 2u);
  EXPECT_EQ(header->entries[0].name, "large");
  EXPECT_EQ(header->entries[0].shape, tensors[0].info.shape);
  EXPECT_EQ(header->entries[1].name, "x");
}

TEST(LayOut, APieceIsNamedByWhereItBegins) {
  SaveTensor rows = Replicated("w", DType::kF32, {6, 5});
  rows.placement = Placement::kRows;
  rows.rows = {2, 3};
  rows.data = rows.data.first(3 * 20);
  SaveTensor in_the_way = Replicated("w@40", DType::kU8, {1});
  in_the_way.placement = Placement::kOwn;
  const std::vector<SaveTensor> both = {rows, in_the_way};
  const auto layout = LayOut(both, 1, 2, kChunkBytes);
  ASSERT_TRUE(layout.ok());
  const auto header = ParseShardHeader(layout->header, layout->file_bytes);
  ASSERT_EQ(header->entries.size(), 2u);
  EXPECT_EQ(header->entries[0], (ShardEntry{"w@40@", DType::kF32, {3, 5}, 0, 60}));
  EXPECT_EQ(header->entries[1].name, "w@40");
  EXPECT_TRUE(layout->entries[0].by_rows);
  const Piece piece{.shard = 0, .offset = 4096, .bytes = 60, .at = 40, .crc32c = {}};
  EXPECT_EQ(layout->entries[0].pieces, std::vector<Piece>{piece});
}

using Shapes = std::map<std::string, std::vector<std::uint64_t>>;

// Of the arrays in all shards.
Shapes ShapesOf(const SaveTensor& tensor, std::uint32_t world) {
  Shapes shapes;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    const auto layout = LayOut(std::span(&tensor, 1), rank, world, kChunkBytes);
    EXPECT_TRUE(layout.ok());
    const auto header = ParseShardHeader(layout->header, layout->file_bytes);
    for (const ShardEntry& array : header->entries) shapes[array.name] = array.shape;
  }
  return shapes;
}

TEST(LayOut, APartOfATensorIsWholeRowsOrPlainElements) {
  EXPECT_EQ(ShapesOf(Replicated("w", DType::kU16, {8, kMiB}), 2),
            (Shapes{{"w@0", {4, kMiB}}, {"w@8388608", {4, kMiB}}}));
  EXPECT_EQ(ShapesOf(Replicated("w", DType::kU16, {4, 2 * kMiB + 2 * kMiB / 4}), 2),
            (Shapes{{"w@0", {4 * kMiB}}, {"w@8388608", {6 * kMiB}}}));
}

TEST(LayOut, TensorsWithoutBytesAreThereAllTheSame) {
  SaveTensor no_rows = Replicated("rows", DType::kF32, {4, 2});
  no_rows.placement = Placement::kRows;
  no_rows.rows = {4, 0};
  no_rows.data = {};
  const std::vector<SaveTensor> tensors = {Replicated("none", DType::kF32, {0, 3}), no_rows};
  const auto layout = LayOut(tensors, 0, 2, kChunkBytes);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->file_bytes, layout->header.size());
  EXPECT_TRUE(layout->copies.empty());
  const auto header = ParseShardHeader(layout->header, layout->file_bytes);
  ASSERT_EQ(header->entries.size(), 1u);
  EXPECT_EQ(header->entries[0].name, "none");
  ASSERT_EQ(layout->entries.size(), 2u);
  EXPECT_EQ(layout->entries[1].info.name, "rows");
  EXPECT_TRUE(layout->entries[1].pieces.empty());
}

TEST(LayOut, RefusesWithTheTensorsName) {
  const SaveTensor good = Replicated("good", DType::kF32, {4, 2});
  SaveTensor short_data = good;
  short_data.data = short_data.data.first(31);
  SaveTensor bad_name = good;
  bad_name.info.name = "a\nb";
  SaveTensor outside = good;
  outside.placement = Placement::kRows;
  outside.rows = {3, 2};
  outside.data = outside.data.first(16);
  SaveTensor far_outside = outside;
  far_outside.rows = {~std::uint64_t{0}, 2};
  SaveTensor scalar_rows = Replicated("scalar", DType::kF32, {});
  scalar_rows.placement = Placement::kRows;
  const struct {
    std::vector<SaveTensor> tensors;
    const char* what;
  } cases[] = {{{good, good}, "\"good\": two tensors have this name"},
               {{short_data}, "\"good\": 31 bytes of data, but type and shape say 32"},
               {{bad_name}, "\"a?b\": a name is UTF-8 without control characters"},
               {{outside}, "\"good\": 2 rows from 3 of a tensor that has 4"},
               {{far_outside}, "\"good\": 2 rows from 18446744073709551615 of a tensor that has 4"},
               {{scalar_rows}, "\"scalar\": a scalar has no rows"}};
  for (const auto& wrong : cases) {
    const Status status = LayOut(wrong.tensors, 0, 1, kChunkBytes).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << wrong.what;
    EXPECT_EQ(status.message(), std::string("the tensor ") + wrong.what);
  }
}

}  // namespace
}  // namespace glim::checkpoint
