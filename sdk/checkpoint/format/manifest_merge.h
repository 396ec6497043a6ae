// One manifest of the parts that the ranks of a save wrote. Pure, any thread.
#pragma once

#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/format/manifest.h"

namespace glim::checkpoint {

// `parts[r]` is rank r's, one for each of world_size. created_at_ms and metadata are rank 0's. INVALID_ARGUMENT names
// the tensor of which two ranks disagree (type, shape), of which bytes are missing, or that two ranks wrote; or the
// rank whose part is of another save. What it returns, ParseManifest will take.
Result<Manifest> Merge(std::vector<Manifest> parts);

}  // namespace glim::checkpoint
