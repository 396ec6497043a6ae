#include "cli/text/output.h"
#include "cli/text/style.h"

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

}  // namespace glim::cli
