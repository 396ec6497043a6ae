#include "sdk/checkpoint/save/testing/saver_fixture.h"

#include "sdk/checkpoint/load/checkpoint.h"
#include "sdk/checkpoint/load/load_newest.h"
#include "sdk/checkpoint/load/load_range.h"

namespace glim::checkpoint {

std::vector<std::byte> SaverFixture::Newest(const std::string& name) const {
  const auto directory = Directory::Open(path_, "").value();
  std::vector<std::byte> bytes;
  const auto ask = [&](const Checkpoint& checkpoint) -> Result<std::vector<LoadRange>> {
    bytes.resize(checkpoint.manifest().Find(name)->info.bytes().value());
    return std::vector<LoadRange>{{name, 0, bytes}};
  };
  const Result<CheckpointId> loaded = LoadNewest(*directory, {}, nullptr, {}, ask, [](CheckpointId, const Status&) {});
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return loaded.ok() ? bytes : std::vector<std::byte>();
}

std::set<std::string> SaverFixture::FilesOf(CheckpointId id) const {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_ + "/" + PathOf(id), error)) {
    names.insert(entry.path().filename());
  }
  return names;
}

}  // namespace glim::checkpoint
