// Bytes as text: two lower-case hexadecimal digits each.
#pragma once

#include <string>

namespace glim {

// `bytes`: a range of unsigned char or std::byte.
template <typename Bytes>
std::string HexText(const Bytes& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const auto byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4U];
    text += kDigits[value & 15U];
  }
  return text;
}

}  // namespace glim
