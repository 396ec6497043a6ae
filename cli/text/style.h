// Colours of a terminal. Never the only sign: the words say the same. Pure but for WantsColour, which looks at the
// environment.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace glim::cli {

enum class Style { kPlain, kBold, kGood, kWarn, kBad, kDim };

// Colour only on a terminal that has it, and not against the user's wish (NO_COLOR).
bool WantsColour(std::FILE* stream);

// `text` between the codes of `style`, or as it is without colour.
std::string Tint(std::string_view text, Style style, bool colour);

}  // namespace glim::cli
