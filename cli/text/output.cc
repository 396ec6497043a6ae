#include "cli/text/output.h"

#include <unistd.h>

#include "cli/text/errors.h"
#include "cli/text/style.h"
#include "cli/text/terminal_text.h"
#include "cli/text/text.h"

namespace glim::cli {

Output::Output(std::FILE* data, std::FILE* prose, OutputFormat format, bool colour)
    : data_(data), prose_(prose), format_(format), colour_(colour), to_terminal_(::isatty(::fileno(data)) == 1) {}

void Output::Data(std::string_view text) {
  if (to_terminal_) {
    Raw(ForTerminal(text));
  } else {
    Raw(text);
  }
}

void Output::Raw(std::string_view text) {
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

}  // namespace glim::cli
