// A stranger's text made safe to show. Pure.
#pragma once

#include <string>
#include <string_view>

#include "sdk/base/utf8.h"

namespace glim {

// For logs and refusals: at most 64 bytes of printable ASCII, "..." at the end of what was cut. '?' stands for all else
// and for '"', so that no text can forge a line or end the quotes around it.
std::string Printable(std::string_view text);

// For people, UTF-8 kept: control characters, text-direction overrides, line separators and broken UTF-8 become visible
// escapes (\n, \x1b, \u202e), so that nobody's job name can move the cursor or repaint the screen.
std::string Escaped(std::string_view text);

// As Escaped, of at most the first `chars_max` characters; what is cut ends in "...".
std::string EscapedStart(std::string_view text, std::size_t chars_max);

// Characters that reorder or break what follows them on the line, or that nobody sees.
bool IsDeceptive(char32_t code);

}  // namespace glim
