#include "cli/text/text.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include <fmt/core.h>

namespace glim::cli {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr Range kZeroWidth[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},
                                {0x064B, 0x065F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
                                {0x20D0, 0x20FF}, {0x2060, 0x2064}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F},
                                {0xFEFF, 0xFEFF}};

constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},
                           {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
                           {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <std::size_t N>
bool InRanges(const Range (&ranges)[N], char32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [code](const Range& range) { return code >= range.first && code <= range.last; });
}

// Characters that reorder or break what follows them on the line.
bool IsDeceptive(char32_t code) {
  return (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0x2028 || code == 0x2029;
}

int CharWidth(char32_t code) {
  if (InRanges(kZeroWidth, code)) return 0;
  return InRanges(kWide, code) ? 2 : 1;
}

std::string EscapeChar(char32_t code) {
  switch (code) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  const auto value = static_cast<unsigned>(code);
  return value < 0x80 ? fmt::format("\\x{:02x}", value) : fmt::format("\\u{:04x}", value);
}

}  // namespace

DecodedChar DecodeUtf8(std::string_view text) {
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
    if ((byte(i) & 0xC0) != 0x80) return {first, 1, false};
    code = (code << 6) | (byte(i) & 0x3F);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < least || code > 0x10FFFF || surrogate) return {first, 1, false};
  return {code, size, true};
}

std::size_t FirstInvalidUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar c = DecodeUtf8(text.substr(at));
    if (!c.ok) return at;
    at += c.size;
  }
  return std::string_view::npos;
}

bool IsControl(char32_t code) { return code < 0x20 || (code >= 0x7F && code <= 0x9F); }

std::size_t FirstControl(std::string_view text, bool allow_lines) {
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar c = DecodeUtf8(text.substr(at));
    const bool line = c.code == '\n' || c.code == '\t';
    if (IsControl(c.code) && !(allow_lines && line)) return at;
    at += c.size;
  }
  return std::string_view::npos;
}

std::string EscapeForTerminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar c = DecodeUtf8(text.substr(at));
    if (!c.ok) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c.code));
    } else if (IsControl(c.code) || IsDeceptive(c.code)) {
      out += EscapeChar(c.code);
    } else {
      out.append(text.substr(at, c.size));
    }
    at += c.size;
  }
  return out;
}

std::string EscapeJsonForTerminal(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const DecodedChar c = DecodeUtf8(json.substr(at));
    if (c.code >= 0x7F && (!c.ok || IsControl(c.code) || IsDeceptive(c.code))) {
      out += fmt::format("\\u{:04x}", c.ok ? static_cast<unsigned>(c.code) : 0xFFFDU);
    } else {
      out.append(json.substr(at, c.size));
    }
    at += c.size;
  }
  return out;
}

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedChar c = DecodeUtf8(text.substr(at));
    width += c.ok ? CharWidth(c.code) : 1;
    at += c.size;
  }
  return width;
}

std::string Shorten(std::string_view text, int columns) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  int width = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const DecodedChar c = DecodeUtf8(text.substr(at));
    const int wide = c.ok ? CharWidth(c.code) : 1;
    if (width + wide > columns - 3) break;
    width += wide;
    at += c.size;
  }
  return std::string(text.substr(0, at)) + "...";
}

std::string Shown(std::string_view text) { return Shorten(EscapeForTerminal(text), 64); }

std::string ShellQuote(std::string_view argument) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("_-./:=,@%+").find(c) != std::string::npos;
  };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), plain)) return std::string(argument);
  std::string out = "'";
  for (const char c : argument) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

}  // namespace glim::cli
