#include "cli/text/style.h"

#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

namespace glim::cli {

bool WantsColour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term) == "dumb") return false;
  return isatty(fileno(stream)) == 1;
}

std::string Tint(std::string_view text, Style style, bool colour) {
  const char* code = "";
  switch (style) {
    case Style::kPlain: break;
    case Style::kBold: code = "1"; break;
    case Style::kGood: code = "32"; break;
    case Style::kWarn: code = "33"; break;
    case Style::kBad: code = "31"; break;
    case Style::kDim: code = "2"; break;
  }
  if (!colour || *code == '\0') return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

}  // namespace glim::cli
