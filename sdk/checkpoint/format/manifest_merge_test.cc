#include <gtest/gtest.h>

#include "sdk/checkpoint/format/layout.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/format/manifest_merge.h"
#include "sdk/checkpoint/format/testing/sample.h"

namespace glim::checkpoint {
namespace {

using testing::PartOf;
using testing::Replicated;

SaveTensor Own(const std::string& name) {
  SaveTensor tensor = Replicated(name, DType::kU8, {8});
  tensor.placement = Placement::kOwn;
  return tensor;
}

SaveTensor SomeRows(const std::string& name, std::uint64_t first, std::uint64_t count) {
  SaveTensor tensor = Replicated(name, DType::kU8, {8});
  tensor.placement = Placement::kRows;
  tensor.rows = {first, count};
  tensor.data = tensor.data.first(count);
  return tensor;
}

std::vector<Manifest> PartsOf(const std::vector<std::vector<SaveTensor>>& job) {
  std::vector<Manifest> parts;
  for (std::uint32_t rank = 0; rank < job.size(); ++rank) {
    const auto world = static_cast<std::uint32_t>(job.size());
    parts.push_back(PartOf(*LayOut(job[rank], rank, world, kChunkBytes), rank, world));
  }
  return parts;
}

TEST(Merge, JoinsWhatTheRanksWrote) {
  auto parts = PartsOf({{Own("a"), SomeRows("r", 0, 3)}, {Own("b"), SomeRows("r", 3, 5)}});
  parts[0].metadata = {{"whose", "rank 0's"}};
  parts[1].metadata = {{"whose", "rank 1's"}};
  parts[1].created_at_ms += 5;
  const std::int64_t created_at_ms = parts[0].created_at_ms;
  const auto merged = Merge(std::move(parts));
  ASSERT_TRUE(merged.ok()) << merged.status().message();
  EXPECT_EQ(merged->metadata.at("whose"), "rank 0's");
  EXPECT_EQ(merged->created_at_ms, created_at_ms);
  ASSERT_EQ(merged->shards.size(), 2u);
  EXPECT_EQ(merged->Find("b")->pieces[0].shard, 1u);
  const std::vector<Piece>& rows = merged->Find("r")->pieces;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].at, 3u);
  EXPECT_EQ(rows[1].shard, 1u);
}

TEST(Merge, NamesTheTensorThatRanksDisagreeAbout) {
  SaveTensor other_shape = Replicated("t", DType::kU8, {2, 4});
  other_shape.placement = Placement::kOwn;
  SaveTensor other_type = Replicated("t", DType::kI8, {8});
  other_type.placement = Placement::kOwn;
  const struct {
    SaveTensor first, second;
    const char* what;
  } cases[] = {
      {Own("t"), Own("t"), "bytes from 0 are both in shard-00000-of-00002.safetensors and in shard-00001-of-00002"},
      {Own("t"), other_shape, "type or shape are not the same on all ranks"},
      {Own("t"), other_type, "type or shape are not the same on all ranks"},
      {Own("t"), SomeRows("t", 0, 0), "some ranks give rows of it, others all of it"},
      {SomeRows("t", 0, 4), SomeRows("t", 3, 5), "bytes from 3 are both in"},
      {SomeRows("t", 0, 3), SomeRows("t", 4, 4), "no rank wrote its bytes from 3"},
      {SomeRows("t", 0, 3), SomeRows("t", 3, 4), "no rank wrote its bytes from 7"},
      {SomeRows("t", 0, 0), SomeRows("t", 1, 7), "no rank wrote its bytes from 0"},
  };
  for (const auto& wrong : cases) {
    const Status status = Merge(PartsOf({{Own("a"), wrong.first}, {wrong.second}})).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << wrong.what;
    EXPECT_EQ(status.field(), "t") << wrong.what;
    EXPECT_EQ(status.message().find(std::string("the tensor \"t\": ") + wrong.what), 0u) << status.message();
    EXPECT_FALSE(status.fix().empty());
  }
}

TEST(Merge, TakesThePartsOfOneSaveAllOfThem) {
  const std::vector<std::vector<SaveTensor>> job = {{Own("a")}, {Own("b")}};
  EXPECT_EQ(Merge({}).status().field(), "world_size");
  auto parts = PartsOf(job);
  parts.pop_back();
  EXPECT_EQ(Merge(parts).status().field(), "world_size");
  parts = PartsOf(job);
  parts[1].step += 1;
  EXPECT_EQ(Merge(parts).status().field(), "rank 1");
  parts = PartsOf(job);
  parts[1].attempt += 1;
  EXPECT_EQ(Merge(parts).status().field(), "rank 1");
  parts = PartsOf(job);
  parts[0].step = parts[1].step = std::uint64_t{1} << 63;
  EXPECT_EQ(Merge(parts).status().field(), "step") << "what no reader would take is not made";
  parts = PartsOf(job);
  parts[1].tensors[0].pieces[0].shard = 9;
  EXPECT_EQ(Merge(parts).status().field(), "b") << "a part that is itself wrong";
  parts = PartsOf(job);
  parts[1].tensors[0].pieces[0].crc32c.clear();
  EXPECT_EQ(Merge(parts).status().field(), "tensors[1].pieces[0].crc32c");
  parts = PartsOf(job);
  parts[1].shards[0].file = parts[0].shards[0].file;
  EXPECT_EQ(Merge(parts).status().field(), "shards[1].file");
}

}  // namespace
}  // namespace glim::checkpoint
