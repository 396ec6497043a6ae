#include "cli/text/text.h"

#include <algorithm>
#include <cctype>

#include <fmt/core.h>
#include <utf8proc.h>

#include "sdk/base/utf8.h"

namespace glim::cli {
namespace {

// What is no character is shown as one.
int WidthOf(const Utf8Char& c) { return c.ok ? utf8proc_charwidth(static_cast<utf8proc_int32_t>(c.code)) : 1; }

}  // namespace

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Char c = DecodeUtf8(text.substr(at));
    width += WidthOf(c);
    at += c.size;
  }
  return width;
}

std::string Shorten(std::string_view text, int columns) {
  if (DisplayWidth(text) <= columns) return std::string(text);
  int width = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const Utf8Char c = DecodeUtf8(text.substr(at));
    const int wide = WidthOf(c);
    if (width + wide > columns - 3) break;
    width += wide;
    at += c.size;
  }
  return std::string(text.substr(0, at)) + "...";
}

std::string Shown(std::string_view text) { return Shorten(Escaped(text), 64); }

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

std::string Trimmed(std::string_view text) {
  constexpr char kBlanks[] = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

}  // namespace glim::cli
