// Loading: ranges of tensors straight into the caller's memory, verified on the way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/io/batch_reader.h"

namespace glim::checkpoint {

// Bytes [at, at + into.size()) of a tensor. Whole chunks are checked where they lie; a chunk that is wanted in part is
// read whole beside and checked there.
struct LoadRange {
  std::string tensor;
  std::uint64_t at = 0;
  std::span<std::byte> into;
};

// Where shards come from: the disk (disk_source.h), or a neighbour's memory (replica/). Any thread but one at a time.
class ShardSource {
 public:
  virtual ~ShardSource() = default;
  virtual Result<Manifest> ReadManifest(CheckpointId id) = 0;
  // Ranges of the manifest's shards (ReadRange::file is the index of one); `done` as BatchReader::Read has it.
  virtual Result<IoReport> Read(CheckpointId id, const Manifest& manifest, std::span<const ReadRange> ranges,
                                const std::function<Status(std::size_t)>& done) = 0;
};

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

// Loads the newest that counts. Each is taken from `replica` first (nullptr: there is none), and from the disk when
// that fails in any way. When the disk's is bad (DATA_LOSS) or was pruned meanwhile (NOT_FOUND), the one before is
// tried, and so on; any other error ends the search. `ask` says, for an opened checkpoint, what is wanted of it; it is
// asked for each one, and its errors count like those of reading. `tried` is told of each failure. NOT_FOUND: there is
// no checkpoint; DATA_LOSS: none is good.
Result<CheckpointId> LoadNewest(const Directory& directory, std::optional<std::uint32_t> attempt, ShardSource* replica,
                                const LoaderOptions& options,
                                const std::function<Result<std::vector<LoadRange>>(const Checkpoint&)>& ask,
                                const std::function<void(CheckpointId, const Status&)>& tried);

}  // namespace glim::checkpoint
