// A checkpoint directory that is not there yet, and short words for what tests of the Saver do.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sdk/checkpoint/directory/testing/small_checkpoint.h"
#include "sdk/checkpoint/save/testing/ranks.h"

namespace glim::checkpoint {

class SaverFixture : public ::testing::Test {
 protected:
  const std::string& path() const { return path_; }
  SaverOptions Options(std::uint32_t rank = 0, std::uint32_t world = 1) const {
    return testing::OptionsOf(path_, rank, world);
  }
  static std::unique_ptr<Saver> Make(const SaverOptions& options) {
    Result<std::unique_ptr<Saver>> saver = Saver::Create(options, testing::StandingClock);
    EXPECT_TRUE(saver.ok()) << saver.status().message();
    return std::move(*saver);
  }
  // A tensor "t" of `bytes`, which belong to the fixture.
  SaveTensor Bytes(std::size_t bytes, std::uint64_t seed, const std::string& name = "t") {
    memory_.push_back(std::make_unique<std::vector<std::byte>>(testing::NoiseOf(bytes, seed)));
    SaveTensor tensor;
    tensor.info = {name, DType::kU8, {bytes}};
    tensor.data = *memory_.back();
    return tensor;
  }
  static std::shared_ptr<SaveHandle> Begin(Saver& saver, std::uint64_t step, const SaveTensor& tensor) {
    Result<std::shared_ptr<SaveHandle>> handle = saver.SaveAsync(step, {&tensor, 1}, {}, {});
    EXPECT_TRUE(handle.ok()) << handle.status().message();
    return *handle;
  }
  static Status Save(Saver& saver, std::uint64_t step, const SaveTensor& tensor) {
    const Result<SaveReport> report = testing::SaveAndWait(saver, step, {&tensor, 1});
    return report.ok() ? Status::Ok() : report.status();
  }
  // The newest checkpoint's tensor `name`; empty when something is wrong with it.
  std::vector<std::byte> Newest(const std::string& name = "t") const;
  static bool IsIn(const std::vector<std::byte>& bytes, const SaveTensor& tensor) {
    return std::vector<std::byte>(tensor.data.begin(), tensor.data.end()) == bytes;
  }
  // Names in a checkpoint's folder.
  std::set<std::string> FilesOf(CheckpointId id) const;
  bool IsThere(CheckpointId id) const { return std::filesystem::exists(path_ + "/" + PathOf(id)); }

 private:
  TestFolder folder_;
  const std::string path_ = folder_.path() + "/ckpt";
  std::vector<std::unique_ptr<std::vector<std::byte>>> memory_;
};

}  // namespace glim::checkpoint
