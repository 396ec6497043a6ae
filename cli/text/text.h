// Text from elsewhere, measured and quoted for a terminal. Pure functions; UTF-8 in and out.
#pragma once

#include <string>
#include <string_view>

#include "sdk/base/printable.h"

namespace glim::cli {

// Columns that a terminal uses: 0 for combining marks, 2 for wide East Asian characters and emoji.
int DisplayWidth(std::string_view text);

// At most `columns` wide; a cut text ends in "...".
std::string Shorten(std::string_view text, int columns);

// A stranger's text as an error quotes it: escaped, and at most 64 columns.
std::string Shown(std::string_view text);

// Without the white space around it.
std::string Trimmed(std::string_view text);

// One shell word that stands for `argument` exactly.
std::string ShellQuote(std::string_view argument);

}  // namespace glim::cli
