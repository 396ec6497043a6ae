// The GPUs: their memory, what they multiply, their copies and links. CUDA's driver and NVML are loaded if they are
// there; both may hang.
#pragma once

#include "nodeagent/programs/validate/options.h"

namespace glim::validate {

// NOT_FOUND with reason device::kNoGpu: this process has none, and nothing is wrong. Other errors: the driver does not
// work, or others are on the GPUs. A GPU that fails in the middle is a reading that is wrong.
Readings MeasureGpu(const Options& options);

}  // namespace glim::validate
