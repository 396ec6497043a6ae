#include "sdk/base/utf8.h"

#include <algorithm>

namespace glim {
namespace {

// The usual case, quickly.
bool IsPrintableAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

}  // namespace

Utf8Char DecodeUtf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return {first, 1, true};
  std::size_t size = 0;
  char32_t code = 0;
  char32_t least = 0;
  if ((first & 0xE0) == 0xC0) {
    size = 2, code = first & 0x1F, least = 0x80;
  } else if ((first & 0xF0) == 0xE0) {
    size = 3, code = first & 0x0F, least = 0x800;
  } else if ((first & 0xF8) == 0xF0) {
    size = 4, code = first & 0x07, least = 0x10000;
  } else {
    return {first, 1, false};
  }
  if (text.size() < size) return {first, 1, false};
  for (std::size_t i = 1; i < size; ++i) {
    if (!ContinuesUtf8(text[i])) return {first, 1, false};
    code = (code << 6) | (byte(i) & 0x3F);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < least || code > 0x10FFFF || surrogate) return {first, 1, false};
  return {code, size, true};
}

std::size_t FirstInvalidUtf8(std::string_view text) {
  if (IsPrintableAscii(text)) return std::string_view::npos;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text.substr(at));
    if (!c.ok) return at;
    at += c.size;
  }
  return std::string_view::npos;
}

bool IsUtf8(std::string_view text) { return FirstInvalidUtf8(text) == std::string_view::npos; }

bool IsControl(char32_t code) { return code < 0x20 || (code >= 0x7F && code <= 0x9F); }

std::size_t FirstControl(std::string_view text, bool allow_lines) {
  if (IsPrintableAscii(text)) return std::string_view::npos;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text.substr(at));
    const bool line = c.code == '\n' || c.code == '\t';
    if (IsControl(c.code) && !(allow_lines && line)) return at;
    at += c.size;
  }
  return std::string_view::npos;
}

bool HasControl(std::string_view text) { return FirstControl(text, false) != std::string_view::npos; }

}  // namespace glim
