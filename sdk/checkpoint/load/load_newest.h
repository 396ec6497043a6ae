// The choice among the checkpoints that count.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/load/checkpoint.h"

namespace glim::checkpoint {

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
