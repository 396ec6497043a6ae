// Reading everything of a checkpoint to see whether it is good.
#pragma once

#include "sdk/base/status.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/load/shard_source.h"

namespace glim::checkpoint {

// Checkpoint::Verify of `id`, whose manifest is `manifest`.
Status VerifyCheckpoint(ShardSource& source, CheckpointId id, const Manifest& manifest);

}  // namespace glim::checkpoint
