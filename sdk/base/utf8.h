// UTF-8 as RFC 3629 has it: no overlong form, no surrogate, nothing above U+10FFFF. Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace glim {

// One decoded character. `ok` is false for a byte that starts no valid sequence; `size` is then 1, `code` the byte.
struct Utf8Char {
  char32_t code = 0;
  std::size_t size = 1;
  bool ok = false;
};

// The character that `text` begins with. `text` must not be empty.
Utf8Char DecodeUtf8(std::string_view text);

// A byte that a character does not begin with.
constexpr bool ContinuesUtf8(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Offset of the first byte that is not valid UTF-8, or npos.
std::size_t FirstInvalidUtf8(std::string_view text);
bool IsUtf8(std::string_view text);

// C0 (newline and tab included), DEL, C1.
bool IsControl(char32_t code);

// Offset of the first control character of valid UTF-8, or npos; `allow_lines` lets newline and tab pass.
std::size_t FirstControl(std::string_view text, bool allow_lines);
bool HasControl(std::string_view text);

}  // namespace glim
