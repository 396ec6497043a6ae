#include "sdk/checkpoint/format/utf8.h"

#include <algorithm>
#include <cstddef>

namespace glim::checkpoint {
namespace {

unsigned ByteAt(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// The usual case, quickly.
bool IsPrintableAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

bool IsTail(unsigned byte) { return (byte & 0xC0) == 0x80; }

// Bytes of the character that `text` begins with, 1 to 4; 0 when it begins with none.
std::size_t Utf8CharacterBytes(std::string_view text) {
  const unsigned first = ByteAt(text, 0);
  const unsigned second = ByteAt(text, 1);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !IsTail(second)) return 0;
  if (first < 0xE0) return 2;
  if (!IsTail(ByteAt(text, 2))) return 0;
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  const bool overlong = first == 0xF0 && second < 0x90;
  const bool beyond = first == 0xF4 && second >= 0x90;
  return overlong || beyond || !IsTail(ByteAt(text, 3)) ? 0 : 4;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  if (IsPrintableAscii(text)) return true;
  while (!text.empty()) {
    const std::size_t bytes = Utf8CharacterBytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

bool HasControlCharacter(std::string_view text) {
  if (IsPrintableAscii(text)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned byte = ByteAt(text, i);
    if (byte < 0x20 || byte == 0x7F || (byte == 0xC2 && ByteAt(text, i + 1) < 0xA0)) return true;
  }
  return false;
}

std::string Printable(std::string_view text) {
  constexpr std::size_t kBytesMax = 64;
  std::string shown(text.substr(0, kBytesMax));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < 0x20 || c > 0x7E; }, '?');
  if (text.size() > kBytesMax) shown.replace(kBytesMax - 3, 3, "...");
  return shown;
}

}  // namespace glim::checkpoint
