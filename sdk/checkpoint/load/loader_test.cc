
#include <gmock/gmock.h>

#include <cstring>
#include <fstream>

#include "sdk/checkpoint/load/checkpoint.h"
#include "sdk/checkpoint/load/load_newest.h"
#include "sdk/checkpoint/load/load_range.h"
#include "sdk/checkpoint/load/shard_source.h"
#include "sdk/checkpoint/save/testing/saver_fixture.h"

namespace glim::checkpoint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kShard = "/shard-00000-of-00001.safetensors";

class LoaderTest : public SaverFixture {
 protected:
  void SaveSteps(std::uint64_t steps) {
    SaverOptions options = Options();
    options.keep.newest = 10;
    const auto saver = Make(options);
    for (std::uint64_t step = 1; step <= steps; ++step) ASSERT_TRUE(Save(*saver, step, TensorOf(step)).ok());
  }
  SaveTensor TensorOf(std::uint64_t step) { return Bytes(2 * kChunkBytes + 1000, step); }

  std::string ShardOf(std::uint64_t step) const { return path() + "/" + PathOf({1, step}) + kShard; }
  // Changes a byte of a file.
  static void Flip(const std::string& file, std::uint64_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const int byte = stream.get();
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(static_cast<char>(byte ^ 1));
    ASSERT_TRUE(stream.good());
  }
  std::unique_ptr<Directory> Opened() const { return Directory::Open(path(), "").value(); }
  std::unique_ptr<Checkpoint> OpenStep(std::uint64_t step) {
    directory_ = Opened();
    return OpenCheckpoint(*directory_, {1, step}, {}).value();
  }
  // All of "t", of the newest that is good; what was tried in vain is in `tried_`.
  Result<CheckpointId> LoadNewestWhole(ShardSource* replica = nullptr) {
    directory_ = Opened();
    tried_.clear();
    const auto ask = [&](const Checkpoint& checkpoint) -> Result<std::vector<LoadRange>> {
      loaded_.assign(checkpoint.manifest().Find("t")->info.bytes().value(), std::byte{0});
      return std::vector<LoadRange>{{"t", 0, loaded_}};
    };
    return LoadNewest(*directory_, {}, replica, {}, ask, [&](CheckpointId id, const Status& status) {
      tried_.push_back(PathOf(id) + ": " + status.message());
    });
  }
  static Status StatusOf(const Result<IoReport>& report) { return report.ok() ? Status::Ok() : report.status(); }

  std::unique_ptr<Directory> directory_;
  std::vector<std::byte> loaded_;
  std::vector<std::string> tried_;
};

TEST_F(LoaderTest, ABadChunkNamesTheTensorAndTheOneBeforeIsLoaded) {
  SaveSteps(2);
  Flip(ShardOf(2), 4096 + kChunkBytes + 5);
  const auto loaded = LoadNewestWhole();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(*loaded, (CheckpointId{1, 1}));
  EXPECT_TRUE(IsIn(loaded_, TensorOf(1)));
  ASSERT_EQ(tried_.size(), 1u);
  EXPECT_THAT(tried_[0], HasSubstr("attempt-1/step-00000002: chunk 1 of tensor 't' (bytes 4194304 to 8388608)"));

  const auto checkpoint = OpenStep(2);
  EXPECT_THAT(checkpoint->Verify().message(), HasSubstr("chunk 1 of tensor 't'"));
  std::vector<std::byte> part(10);
  const std::vector<LoadRange> beside{{"t", 2 * kChunkBytes, part}};
  EXPECT_TRUE(checkpoint->Load(beside).ok()) << "the other chunks are good";
  const std::vector<LoadRange> inside{{"t", 2 * kChunkBytes - 10, part}};
  const Status status = StatusOf(checkpoint->Load(inside));
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  EXPECT_EQ(status.field(), "t");
}

TEST_F(LoaderTest, AShardThatIsShortMissingOrNoManifestAtAllAreFallenBackFromToo) {
  SaveSteps(4);
  std::filesystem::resize_file(ShardOf(4), 4096 + kChunkBytes);
  std::filesystem::remove(ShardOf(3));
  Flip(path() + "/" + PathOf({1, 2}) + "/manifest.json", 30);
  const auto loaded = LoadNewestWhole();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(*loaded, (CheckpointId{1, 1}));
  EXPECT_EQ(tried_.size(), 3u);
  EXPECT_THAT(tried_[0], HasSubstr("shard-00000-of-00001.safetensors"));
}

TEST_F(LoaderTest, WhenNoneIsGoodEachIsSaid) {
  SaveSteps(2);
  Flip(ShardOf(1), 5000);
  Flip(ShardOf(2), 5000);
  const auto loaded = LoadNewestWhole();
  EXPECT_EQ(loaded.status().code(), StatusCode::kDataLoss);
  EXPECT_THAT(loaded.status().message(), HasSubstr("step-00000001"));
  EXPECT_THAT(loaded.status().message(), HasSubstr("step-00000002"));
}

TEST_F(LoaderTest, WithoutACheckpointThereIsNone) {
  SaveSteps(0);
  EXPECT_EQ(LoadNewestWhole().status().code(), StatusCode::kNotFound);
}

TEST_F(LoaderTest, ErrorsThatAnOlderCheckpointWouldNotMendEndTheSearch) {
  SaveSteps(2);
  directory_ = Opened();
  int asked = 0;
  const auto refuse = [&](const Checkpoint&) -> Result<std::vector<LoadRange>> {
    ++asked;
    return InvalidArgument("model", "another shape");
  };
  const auto loaded = LoadNewest(*directory_, {}, nullptr, {}, refuse, [](CheckpointId, const Status&) {});
  EXPECT_EQ(loaded.status().field(), "model");
  EXPECT_EQ(asked, 1);
}

TEST_F(LoaderTest, VerifyLooksAtHeadersSizesAndEveryByte) {
  SaveSteps(1);
  EXPECT_TRUE(OpenStep(1)->Verify().ok()) << OpenStep(1)->Verify().message();
  const std::uint64_t bytes = std::filesystem::file_size(ShardOf(1));
  for (const std::uint64_t at :
       {std::uint64_t{0}, std::uint64_t{20}, std::uint64_t{4095}, std::uint64_t{4096}, bytes - 1}) {
    Flip(ShardOf(1), at);
    const Status status = OpenStep(1)->Verify();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << "byte " << at;
    Flip(ShardOf(1), at);
  }
  std::filesystem::resize_file(ShardOf(1), bytes + 1);
  EXPECT_EQ(OpenCheckpoint(*directory_, {1, 1}, {}).status().field(), "shard-00000-of-00001.safetensors")
      << "a byte more than the manifest says";
}

TEST_F(LoaderTest, AManifestFromElsewhereIsNotTaken) {
  SaveSteps(2);
  std::filesystem::copy_file(path() + "/" + PathOf({1, 1}) + "/manifest.json",
                             path() + "/" + PathOf({1, 2}) + "/manifest.json",
                             std::filesystem::copy_options::overwrite_existing);
  directory_ = Opened();
  const auto opened = OpenCheckpoint(*directory_, {1, 2}, {});
  EXPECT_EQ(opened.status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(opened.status().reason(), "BAD_MANIFEST");
}

TEST_F(LoaderTest, NamesAreMatchedByShellPatternsAndNearOnesSuggested) {
  {
    const auto saver = Make(Options());
    std::vector<SaveTensor> tensors;
    for (const char* name : {"layer.0.weight", "layer.1.weight", "layer.1.bias", "head.weight"}) {
      tensors.push_back(Bytes(4, 1, name));
    }
    ASSERT_TRUE(testing::SaveAndWait(*saver, 1, tensors).ok());
  }
  const auto checkpoint = OpenStep(1);
  EXPECT_THAT(checkpoint->Matching("layer.*"), ElementsAre("layer.0.weight", "layer.1.bias", "layer.1.weight"));
  EXPECT_THAT(checkpoint->Matching("layer.[1-9].weight"), ElementsAre("layer.1.weight"));
  EXPECT_THAT(checkpoint->Matching("none"), IsEmpty());
  std::vector<std::byte> place(4);
  const auto status_of = [&](const std::string& name, std::uint64_t at) {
    const std::vector<LoadRange> ranges{{name, at, place}};
    return StatusOf(checkpoint->Load(ranges));
  };
  EXPECT_TRUE(status_of("layer.0.weight", 0).ok());
  EXPECT_THAT(status_of("layer.0.wieght", 0).fix(), HasSubstr("'layer.0.weight'"));
  EXPECT_EQ(status_of("layer.0.weight", 1).field(), "layer.0.weight") << "a byte beyond its end";
  EXPECT_EQ(status_of("layer.0.weight", ~std::uint64_t{0}).code(), StatusCode::kInvalidArgument);
}

// A neighbour's memory that holds what the folder of a checkpoint holds.
class CopiedSource final : public ShardSource {
 public:
  explicit CopiedSource(Checkpoint& checkpoint) : manifest_(checkpoint.manifest()) {
    for (const TensorEntry& tensor : manifest_.tensors) {
      bytes_.resize(tensor.info.bytes().value());
      const std::vector<LoadRange> all{{tensor.info.name, 0, bytes_}};
      EXPECT_TRUE(checkpoint.Load(all).ok());
    }
  }
  Result<Manifest> ReadManifest(CheckpointId id) override {
    if (id.step != manifest_.step) return Status(StatusCode::kNotFound, "another step");
    return manifest_;
  }
  Result<IoReport> Read(CheckpointId, const Manifest& manifest, std::span<const ReadRange> ranges,
                        const std::function<Status(std::size_t)>& done) override {
    const std::uint64_t begin = manifest.tensors[0].pieces[0].offset;
    for (std::size_t i = ranges.size(); i-- > 0;) {  // any order
      std::memcpy(ranges[i].into.data(), bytes_.data() + (ranges[i].offset - begin), ranges[i].into.size());
      if (Status status = done(i); !status.ok()) return status;
    }
    ++reads;
    return IoReport();
  }
  void Break() { bytes_[0] ^= std::byte{1}; }

  int reads = 0;

 private:
  Manifest manifest_;
  std::vector<std::byte> bytes_;  // of the one tensor
};

TEST_F(LoaderTest, AReplicaIsReadBeforeTheDiskAndTheDiskWhenItIsBad) {
  SaveSteps(2);
  CopiedSource replica(*OpenStep(2));
  std::filesystem::remove(ShardOf(2));
  ASSERT_EQ(*LoadNewestWhole(&replica), (CheckpointId{1, 2})) << "nothing of it is on the disk";
  EXPECT_TRUE(IsIn(loaded_, TensorOf(2)));
  EXPECT_EQ(replica.reads, 1);
  EXPECT_THAT(tried_, IsEmpty());

  replica.Break();
  ASSERT_EQ(*LoadNewestWhole(&replica), (CheckpointId{1, 1}));
  EXPECT_TRUE(IsIn(loaded_, TensorOf(1)));
  EXPECT_EQ(tried_.size(), 3u) << "step 2: replica, disk; step 1: replica";
}

}  // namespace
}  // namespace glim::checkpoint
