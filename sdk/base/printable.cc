#include "sdk/base/printable.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

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
  std::snprintf(text, sizeof text, value < 0x80 ? "\\x%02x" : value < 0x10000 ? "\\u%04x" : "\\U%08x", value);
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

// Not the joiners U+200C and U+200D, nor variation selectors: scripts and emoji need them.
bool IsDeceptive(char32_t code) {
  constexpr struct {
    char32_t first, last;
  } kRanges[] = {
      {0x00AD, 0x00AD},    // soft hyphen
      {0x061C, 0x061C},    // Arabic letter mark
      {0x115F, 0x1160},    // fillers of Hangul, here and below
      {0x180E, 0x180E},    // Mongolian vowel separator
      {0x200B, 0x200B},    // zero-width space
      {0x200E, 0x200F},    // marks of direction
      {0x2028, 0x202E},    // line and paragraph separators; embeddings and overrides of direction
      {0x2060, 0x2064},    // word joiner, invisible operators
      {0x2066, 0x206F},    // isolates of direction; shaping that is deprecated
      {0x3164, 0x3164},    //
      {0xFEFF, 0xFEFF},    // byte order mark
      {0xFFA0, 0xFFA0},    //
      {0xFFF9, 0xFFFB},    // interlinear annotations
      {0xE0000, 0xE007F},  // tags
  };
  if (code < kRanges[0].first) return false;  // most of most texts
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [code](const auto& range) { return code >= range.first && code <= range.last; });
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
