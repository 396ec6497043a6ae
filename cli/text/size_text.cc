#include "cli/text/size_text.h"

#include <array>
#include <charconv>

#include <fmt/format.h>

namespace glim::cli {
namespace {

struct Unit {
  std::string_view name;
  int shift;
};
constexpr Unit kUnits[] = {{"TiB", 40}, {"GiB", 30}, {"MiB", 20}, {"KiB", 10}};
constexpr std::int64_t kBytesMax = std::int64_t{1} << 62;

}  // namespace

std::optional<std::int64_t> ParseSize(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view name(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& unit : kUnits) {
    if (unit.name == name && number <= (kBytesMax >> unit.shift)) return number << unit.shift;
  }
  return std::nullopt;
}

std::string FormatSize(std::int64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes >= (std::int64_t{1} << unit.shift) && (bytes >> unit.shift << unit.shift) == bytes) {
      return fmt::format("{}{}", bytes >> unit.shift, unit.name);
    }
  }
  return fmt::format("{} bytes", bytes);
}

std::string BytesText(std::uint64_t bytes) {
  constexpr std::array kNames = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // What would be printed as 1024.0 is 1.0 of the next.
  for (; value >= 1023.95 && unit + 1 < kNames.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kNames[unit]);
}

}  // namespace glim::cli
