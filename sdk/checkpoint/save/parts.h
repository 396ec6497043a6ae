// How the ranks of a save find together: each publishes its part in the checkpoint's folder, rank 0 waits for all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/format/manifest.h"

namespace glim::checkpoint {

// "part-00003.json"
std::string PartName(std::uint32_t rank);

// "shard-00003-of-00008.safetensors", or with "-2" and so on before the suffix what is not in `folder` yet: an earlier
// try at the same step may have left one that an earlier part still names, so none is ever written twice.
std::string NewShardName(int folder, std::uint32_t rank, std::uint32_t world);

// The parts of all ranks, in order; `own` is rank 0's. Looks into the folder again and again, since no network file
// system tells of what others have written there. Parts of another save are passed over. DEADLINE_EXCEEDED names the
// ranks that are missing after `timeout_ms`.
Result<std::vector<Manifest>> WaitForParts(const Directory& directory, int folder, Manifest own,
                                           std::int64_t timeout_ms);

}  // namespace glim::checkpoint
