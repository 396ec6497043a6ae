// Checkpoints of one small tensor for tests: written with nothing but the Directory and the format, and read back
// whole.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/directory.h"

namespace glim::checkpoint {

// Writes one as a saver would: its shard, flushed, then the part, then the manifest. The data follows from `id`.
Status SaveSmall(Directory& directory, CheckpointId id, std::int64_t created_at_ms = 0);

// What is wrong with it, every byte looked at; empty: nothing.
std::string FaultOf(const Directory& directory, CheckpointId id);

// A new empty folder, in memory where the machine has that (a test may flush ten thousand times); removed with all that
// is in it.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace glim::checkpoint
