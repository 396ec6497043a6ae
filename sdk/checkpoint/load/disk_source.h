// A checkpoint's folder on the disk as a source of its shards.
#pragma once

#include <memory>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/load/loader.h"

namespace glim::checkpoint {

// Of the one checkpoint `id` of `directory`, which must outlive it. NOT_FOUND: there is no such folder. Its
// ReadManifest checks that all shards are there.
Result<std::unique_ptr<ShardSource>> OpenDiskSource(const Directory& directory, CheckpointId id,
                                                    const LoaderOptions& options);

// DATA_LOSS names the file that is not in the open folder with just its size.
Status CheckShardsAreThere(int folder, const std::vector<Shard>& shards);

}  // namespace glim::checkpoint
