// Which checkpoint a path on the command line means.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/load/checkpoint.h"

namespace glim::cli {

// A directory of checkpoints, or one checkpoint in it.
struct CheckpointPlace {
  std::string root;  // absolute
  std::unique_ptr<checkpoint::Directory> directory;
  std::optional<checkpoint::CheckpointId> id;

  std::string PathOf(checkpoint::CheckpointId checkpoint) const;
};

// DIR or DIR/attempt-N/step-S, also by way of a link such as DIR/latest. NOT_FOUND if there is no such folder.
Result<CheckpointPlace> FindPlace(const std::string& path);

// The checkpoint that the path names; of a directory the newest that counts. NOT_FOUND if it has none.
Result<checkpoint::CheckpointId> OneOf(const CheckpointPlace& place);
Result<std::unique_ptr<checkpoint::Checkpoint>> OpenOne(const CheckpointPlace& place);

}  // namespace glim::cli
