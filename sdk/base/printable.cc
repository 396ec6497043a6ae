#include "sdk/base/printable.h"

#include <algorithm>
#include <cstdio>

namespace glim {
namespace {

std::string EscapedChar(char32_t code) {
  switch (code) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  const auto value = static_cast<unsigned>(code);
  char text[16];
  std::snprintf(text, sizeof text, value < 0x80 ? "\\x%02x" : "\\u%04x", value);
  return text;
}

std::string EscapedByte(char32_t byte) {
  char text[8];
  std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned>(byte & 0xFF));
  return text;
}

}  // namespace

std::string Printable(std::string_view text) {
  constexpr std::size_t kBytesMax = 64;
  std::string shown(text.substr(0, kBytesMax));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < 0x20 || c > 0x7E || c == '"'; }, '?');
  if (text.size() > kBytesMax) shown.replace(kBytesMax - 3, 3, "...");
  return shown;
}

bool IsDeceptive(char32_t code) {
  return (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0x200E || code == 0x200F ||
         code == 0xFEFF;
}

std::string EscapedStart(std::string_view text, std::size_t chars_max) {
  std::size_t end = 0;
  for (std::size_t chars = 0; end < text.size(); ++chars) {
    if (chars == chars_max) return Escaped(text.substr(0, end)) + "...";
    end += DecodeUtf8(text.substr(end)).size;
  }
  return Escaped(text);
}

std::string Escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text.substr(at));
    if (!c.ok) {
      out += EscapedByte(c.code);
    } else if (IsControl(c.code) || IsDeceptive(c.code)) {
      out += EscapedChar(c.code);
    } else {
      out.append(text.substr(at, c.size));
    }
    at += c.size;
  }
  return out;
}

}  // namespace glim
