// The interface between loading and where the bytes come from.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/names.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/io/batch_reader.h"

namespace glim::checkpoint {

// Where shards come from: the disk (disk_source.h), or a neighbour's memory (replica/). Any thread but one at a time.
class ShardSource {
 public:
  virtual ~ShardSource() = default;
  virtual Result<Manifest> ReadManifest(CheckpointId id) = 0;
  // Ranges of the manifest's shards (ReadRange::file is the index of one); `done` as BatchReader::Read has it.
  virtual Result<IoReport> Read(CheckpointId id, const Manifest& manifest, std::span<const ReadRange> ranges,
                                const std::function<Status(std::size_t)>& done) = 0;
};

}  // namespace glim::checkpoint
