// For reports of how long something took.
#pragma once

#include <chrono>
#include <cstdint>

namespace glim::checkpoint {

inline std::int64_t MicrosSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace glim::checkpoint
