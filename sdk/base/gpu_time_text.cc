#include "sdk/base/gpu_time_text.h"

#include "sdk/base/time.h"

namespace glim {

std::string GpuTimeText(std::int64_t gpu_ms) {
  const std::int64_t hour = Hours(1).ms, minute = Minutes(1).ms;
  if (gpu_ms >= hour / 10) {
    const std::int64_t tenths = (gpu_ms + hour / 20) / (hour / 10);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GPU-hours";
  }
  if (gpu_ms >= minute) return std::to_string((gpu_ms + minute / 2) / minute) + " GPU-minutes";
  return std::to_string((gpu_ms + 500) / 1000) + " GPU-seconds";
}

}  // namespace glim
