// Unsigned integers as bytes, the lowest first, as files and wires of ours have them on every machine.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace glim {

template <std::unsigned_integral T>
void AppendLittleEndian(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(std::uint64_t{value} >> (8 * i)));
}

// The number that all of `bytes` (at most 8) are.
inline std::uint64_t FromLittleEndian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace glim
