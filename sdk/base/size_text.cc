#include "sdk/base/size_text.h"

#include <array>
#include <charconv>
#include <cstdio>

namespace glim {
namespace {

struct SizeUnit {
  std::string_view name;
  int shift;
};
constexpr SizeUnit kSizeUnits[] = {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
constexpr std::int64_t kSizeBytesMax = std::int64_t{1} << 62;

}  // namespace

std::optional<std::int64_t> ParseSize(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view name(rest, static_cast<std::size_t>(end - rest));
  for (const SizeUnit& unit : kSizeUnits) {
    if (unit.name == name && number <= (kSizeBytesMax >> unit.shift)) return number << unit.shift;
  }
  return std::nullopt;
}

std::string WriteSize(std::int64_t bytes) {
  for (const SizeUnit& unit : kSizeUnits) {
    if (bytes >= (std::int64_t{1} << unit.shift) && (bytes >> unit.shift << unit.shift) == bytes) {
      return std::to_string(bytes >> unit.shift) + std::string(unit.name);
    }
  }
  return std::to_string(bytes) + " bytes";
}

std::string RoundedSizeText(std::uint64_t bytes) {
  constexpr std::array kNames = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // What would be printed as 1024.0 is 1.0 of the next.
  for (; value >= 1023.95 && unit + 1 < kNames.size(); ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kNames[unit]);
  return text;
}

}  // namespace glim
