// A range of protocol versions that one side speaks, and what two sides have in common. Plain values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace glim {

struct VersionRange {
  std::uint32_t oldest = 0;
  std::uint32_t newest = 0;  // at least `oldest`
};

// What two sides speak with each other: the newest version that both know; none: they cannot.
inline std::optional<std::uint32_t> CommonVersion(VersionRange a, VersionRange b) {
  const std::uint32_t newest = std::min(a.newest, b.newest);
  if (newest < std::max(a.oldest, b.oldest)) return std::nullopt;
  return newest;
}

// "version 2", "versions 2 to 5"
inline std::string ToString(VersionRange range) {
  if (range.oldest == range.newest) return "version " + std::to_string(range.oldest);
  return "versions " + std::to_string(range.oldest) + " to " + std::to_string(range.newest);
}

}  // namespace glim
