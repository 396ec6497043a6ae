// GPU-time as people read it, in the unit that fits: "12.0 GPU-hours", "5 GPU-minutes", "30 GPU-seconds". Pure.
#pragma once

#include <cstdint>
#include <string>

namespace glim {

std::string GpuTimeText(std::int64_t gpu_ms);

}  // namespace glim
