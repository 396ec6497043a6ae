#include "cli/text/log_printer.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/text/render_json.h"

namespace glim::cli {
namespace {

constexpr std::size_t kLineBytesMax = 64 * 1024;

}  // namespace

void LogPrinter::Take(const glim::v1::StreamLogResponse& part) {
  if (part.attempt() != 0) attempt_ = part.attempt();
  if (!part.kept_of_node().empty()) {
    output_->Note(
        fmt::format("node {} is gone, or has this log no more: what follows is the end of attempt {}'s log, as the "
                    "scheduler has kept it",
                    part.kept_of_node(), part.attempt()));
  }
  if (part.data().empty()) return;
  std::string data = part.data();
  if (part.offset() > offset_) {
    EndPart();
    output_->Note(fmt::format("({} bytes are no longer kept)", part.offset() - offset_));
  } else if (part.offset() < offset_) {  // told again after a reconnect
    const auto again = std::min<std::int64_t>(offset_ - part.offset(), static_cast<std::int64_t>(data.size()));
    data.erase(0, static_cast<std::size_t>(again));
  }
  offset_ = std::max(offset_, part.offset() + static_cast<std::int64_t>(part.data().size()));
  if (output_->json()) {
    AddLines(data);
  } else {
    output_->Raw(made_safe_ ? safe_.Take(data) : data);
  }
  (void)output_->Finish();  // a reader of the pipe sees it now; a fault is kept and told at the end
}

void LogPrinter::AddLines(const std::string& data) {
  std::int64_t at = offset_ - static_cast<std::int64_t>(data.size());
  for (const char c : data) {
    if (line_.empty()) line_offset_ = at;
    ++at;
    if (c != '\n') line_ += c;
    if (c == '\n' || line_.size() >= kLineBytesMax) PrintLine();
  }
}

void LogPrinter::PrintLine() {
  Json document = NewDocument();
  document["attempt"] = attempt_;
  document["offset"] = line_offset_;
  document["line"] = line_;
  output_->Data(DumpJson(document));
  line_.clear();
}

void LogPrinter::EndPart() {
  if (!line_.empty()) PrintLine();
  output_->Raw(safe_.End());
}

Status LogPrinter::Finish() {
  EndPart();
  return output_->Finish();
}

void LogPrinter::NextAttempt(std::uint32_t attempt) {
  EndPart();
  attempt_ = attempt;
  offset_ = 0;
}

}  // namespace glim::cli
