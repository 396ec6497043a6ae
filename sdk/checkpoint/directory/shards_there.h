// Whether a checkpoint's shards lie where its manifest says. Any thread.
#pragma once

#include <vector>

#include "sdk/base/status.h"
#include "sdk/checkpoint/format/manifest.h"

namespace glim::checkpoint {

// DATA_LOSS names the file that is not in the open folder with just its size.
Status CheckShardsAreThere(int folder, const std::vector<Shard>& shards);

}  // namespace glim::checkpoint
