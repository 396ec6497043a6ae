// A checkpoint's folder on the disk as a source of its shards.
#pragma once

#include <memory>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/io/file_writer.h"
#include "sdk/checkpoint/load/shard_source.h"

namespace glim::checkpoint {

// Of the one checkpoint `id` of `directory`, which must outlive it. NOT_FOUND: there is no such folder. Its
// ReadManifest checks that all shards are there.
Result<std::unique_ptr<ShardSource>> OpenDiskSource(const Directory& directory, CheckpointId id, const IoOptions& io);

}  // namespace glim::checkpoint
