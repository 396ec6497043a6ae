// Whether a GPU's memory keeps what is written to it, and how fast it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nodeagent/programs/validate/gpu_kernels.h"
#include "nodeagent/programs/validate/options.h"
#include "sdk/device/driver.h"

namespace glim::validate {

// "gpu0"
std::string GpuName(const device::Gpu& gpu);

// Fills all that is free, less a reserve, with each pattern and looks at all of it again; 1 GiB if it is not `full`.
// The GPU has kGpuKernels. Errors are the driver's.
Readings MeasureGpuMemory(const device::Gpu& gpu, bool full);

// Any number of words from `first` on, as glim_words has them.
Status AskWords(const device::Gpu& gpu, device::DeviceAddress words, std::uint64_t count, std::uint32_t pattern,
                std::uint64_t first, const device::GpuMemory* result);
// A kernel's report, before and after.
Status ClearMismatches(const device::Gpu& gpu, const device::GpuMemory& result);
Result<Mismatches> MismatchesIn(const device::Gpu& gpu, const device::GpuMemory& result);
unsigned BlocksFor(const device::Gpu& gpu);

}  // namespace glim::validate
