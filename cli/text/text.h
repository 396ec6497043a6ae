// Text that came from elsewhere, made safe and measurable for a terminal. Pure functions; UTF-8 in and out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glim::cli {

// One decoded character. `ok` is false for a byte that starts no valid UTF-8 sequence; `size` is then 1.
struct DecodedChar {
  char32_t code = 0;
  std::size_t size = 1;
  bool ok = false;
};

// Strict: no overlong forms, no surrogates, nothing beyond U+10FFFF. `text` must not be empty.
DecodedChar DecodeUtf8(std::string_view text);

// Offset of the first byte that is not valid UTF-8, or std::string_view::npos.
std::size_t FirstInvalidUtf8(std::string_view text);

// C0 (newline and tab included), DEL, C1.
bool IsControl(char32_t code);

// Offset of the first control character, or npos; `allow_lines` lets newline and tab pass. `text` is valid UTF-8.
std::size_t FirstControl(std::string_view text, bool allow_lines);

// Control characters, text-direction overrides, line separators and broken UTF-8 become visible escapes (\n, \x1b,
// \u202e), so that nobody's job name can move the cursor or repaint the screen.
std::string EscapeForTerminal(std::string_view text);

// Same, for the text of a JSON document: what JSON lets through raw (DEL, C1, direction overrides) becomes \uXXXX.
std::string EscapeJsonForTerminal(std::string_view json);

// Columns that a terminal uses: 0 for combining marks, 2 for wide East Asian characters and emoji.
int DisplayWidth(std::string_view text);

// At most `columns` wide; a cut text ends in "...".
std::string Shorten(std::string_view text, int columns);

// A stranger's text as an error quotes it: escaped, and at most 64 columns.
std::string Shown(std::string_view text);

// One shell word that stands for `argument` exactly.
std::string ShellQuote(std::string_view argument);

}  // namespace glim::cli
