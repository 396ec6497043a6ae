// Loading: ranges of tensors straight into the caller's memory, verified on the way.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/load/load_range.h"
#include "sdk/checkpoint/load/shard_source.h"

namespace glim::checkpoint {

// One checkpoint, opened. One thread.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;
  virtual const CheckpointId& id() const = 0;
  virtual const Manifest& manifest() const = 0;
  // All ranges or an error, after which `into` holds anything. INVALID_ARGUMENT: no such tensor (near names are
  // suggested), or a range beyond it. DATA_LOSS names the tensor and chunk that is bad, or the file.
  virtual Result<IoReport> Load(std::span<const LoadRange> ranges) = 0;
  // Names that match a shell pattern (*, ?, [...]), in order.
  virtual std::vector<std::string> Matching(const std::string& pattern) const = 0;
  // Reads everything and checks it, keeping nothing; also every shard's header against the manifest.
  virtual Status Verify() = 0;
};

struct LoaderOptions {
  IoOptions io;
};

Result<std::unique_ptr<Checkpoint>> OpenCheckpoint(const Directory& directory, CheckpointId id,
                                                   const LoaderOptions& options);
// `source` must outlive it.
Result<std::unique_ptr<Checkpoint>> OpenCheckpoint(ShardSource& source, CheckpointId id);

}  // namespace glim::checkpoint
