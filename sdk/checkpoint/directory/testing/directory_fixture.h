// A checkpoint directory `path()` that is not there yet, in a folder of the test, and short words for what tests do to
// it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/directory/testing/small_checkpoint.h"

namespace glim::checkpoint {

// GoogleTest looks for it under this name.
inline void PrintTo(const CheckpointId& id, std::ostream* out) { *out << PathOf(id); }

class DirectoryFixture : public ::testing::Test {
 protected:
  const std::string& path() const { return path_; }
  const std::string& outside() const { return folder_.path(); }
  std::string At(CheckpointId id) const { return path_ + "/" + PathOf(id); }

  std::unique_ptr<Directory> OpenAs(const std::string& job) const { return Directory::Open(path_, job).value(); }
  static std::optional<CheckpointId> Begun(Directory& directory, std::uint32_t attempt) {
    return directory.BeginAttempt(attempt).value();
  }
  static void Begin(Directory& directory, std::uint32_t attempt) { static_cast<void>(Begun(directory, attempt)); }
  static void Save(Directory& directory, CheckpointId id, std::int64_t created_at_ms = 0) {
    const Status status = SaveSmall(directory, id, created_at_ms);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // What readers see; each one is looked at.
  static std::vector<CheckpointId> VisibleIn(const Directory& directory) {
    std::vector<CheckpointId> visible = directory.Visible().value();
    for (const CheckpointId id : visible) EXPECT_EQ(FaultOf(directory, id), "") << PathOf(id);
    return visible;
  }

  static void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Every name under `path`, with the contents of files and the targets of links.
  static std::map<std::string, std::string> AllUnder(const std::string& path) {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      std::string& text = all[entry.path().lexically_relative(path)];
      if (entry.is_symlink()) {
        text = "-> " + std::filesystem::read_symlink(entry.path()).string();
      } else if (entry.is_regular_file()) {
        text = Read(entry.path());
      }
    }
    return all;
  }

 private:
  TestFolder folder_;
  const std::string path_ = folder_.path() + "/ckpt";
};

}  // namespace glim::checkpoint
