#include "cli/text/output.h"

#include <cstdlib>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/text/errors.h"
#include "cli/text/text.h"

namespace glim::cli {

void Output::Data(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), data_) != text.size()) failed_ = true;
}

void Output::Flush() {
  if (std::fflush(data_) != 0) failed_ = true;
}

void Output::Note(std::string_view line) {
  if (json()) return;
  std::fflush(data_);  // on a terminal both end up in one place, in order
  const std::string escaped = Escaped(line) + "\n";
  std::fwrite(escaped.data(), 1, escaped.size(), prose_);
}

void Output::Error(const Status& status) {
  std::fflush(data_);
  const std::string text = json() ? ErrorJson(status) : ErrorText(status, WantsColour(prose_));
  std::fwrite(text.data(), 1, text.size(), prose_);
  std::fflush(prose_);
}

Status Output::Finish() {
  if (std::fflush(data_) != 0) failed_ = true;
  if (!failed_) return Status::Ok();
  return Status(StatusCode::kInternal, "standard output could not be written in full").WithReason("OUTPUT_FAILED");
}

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
