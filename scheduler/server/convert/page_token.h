// What ties a page token to the filters that it was given for: with others it would go on in the middle of another
// list.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace glim::server {

// Tells lists apart, and keeps no secret (FNV-1a).
inline std::int64_t FilterMark(std::initializer_list<std::string_view> filters) {
  std::uint32_t mark = 2'166'136'261U;
  const auto take = [&mark](unsigned char byte) { mark = (mark ^ byte) * 16'777'619U; };
  for (const std::string_view filter : filters) {
    for (const char c : filter) take(static_cast<unsigned char>(c));
    take(0x1f);
  }
  return mark;
}

}  // namespace glim::server
