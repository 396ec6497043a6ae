// Whether a GPU multiplies right, bit for bit, and how fast: in single precision by its ordinary units, and in bfloat16
// by its tensor cores where it has them.
#pragma once

#include <cstdint>

#include "nodeagent/programs/validate/options.h"
#include "sdk/device/driver.h"

namespace glim::validate {

// For at least so many seconds each. The GPU has kGpuKernels, and kGpuTensorKernels from capability 8 on. Errors are
// the driver's; RESOURCE_EXHAUSTED with reason kGpuIsTaken: there is too little memory free.
Readings MeasureGpuMultiply(const device::Gpu& gpu, double seconds, std::uint32_t side_max);

}  // namespace glim::validate
