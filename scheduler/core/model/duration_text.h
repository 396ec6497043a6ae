// A duration as people say it: "2 h", "1 h 30 min", "45 s". Exact: nothing is rounded away.
#pragma once

#include <string>

#include "sdk/base/time.h"

namespace glim::core {

inline std::string DurationText(Duration duration) {
  struct Unit {
    std::int64_t ms;
    const char* name;
  };
  static constexpr Unit kUnits[] = {{86'400'000, " d"}, {3'600'000, " h"}, {60'000, " min"}, {1000, " s"}, {1, " ms"}};
  if (duration.ms <= 0) return "0 s";
  std::string text;
  std::int64_t left = duration.ms;
  for (const Unit& unit : kUnits) {
    if (left < unit.ms) continue;
    text += (text.empty() ? "" : " ") + std::to_string(left / unit.ms) + unit.name;
    left %= unit.ms;
  }
  return text;
}

}  // namespace glim::core
