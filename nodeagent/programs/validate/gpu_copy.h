// How fast bytes go between each GPU and the memory beside it, and from each GPU to each other; and whether they come.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "nodeagent/programs/validate/options.h"
#include "sdk/device/driver.h"

namespace glim::validate {

// The calling thread runs where the memory shall lie. Errors are the driver's.
Readings MeasureGpuHostCopies(const device::Gpu& gpu, std::size_t bytes_max);

// Whether an NVLink leads from one to the other.
using Linked = std::function<bool(const device::Gpu& from, const device::Gpu& to)>;
// All ordered pairs, one after the other. The GPUs have kGpuKernels.
Readings MeasureGpuPeers(const std::vector<std::unique_ptr<device::Gpu>>& gpus, const Linked& linked,
                         std::size_t bytes_max);

}  // namespace glim::validate
