#include <algorithm>

#include <fmt/format.h>

#include "cli/text/style.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

std::string Subject(const glim::v1::Event& event) {
  std::string subject;
  if (event.job_id() != 0) subject = fmt::format("job {}", event.job_id());
  if (event.attempt() != 0) subject += fmt::format(".{}", event.attempt());
  if (event.node().empty()) return subject.empty() ? "cluster" : subject;
  return subject + (subject.empty() ? "node " : " on ") + event.node();
}

Style StyleOf(const std::string& kind) {
  if (kind == "job_failed" || kind == "node_lost" || kind == "node_quarantined" || kind == "outage_began") {
    return Style::kBad;
  }
  if (kind == "job_succeeded" || kind == "attempt_running" || kind == "node_ready") return Style::kGood;
  const bool warns = kind == "node_fault" || kind == "health_condition" || kind == "attempt_stalled" ||
                     kind == "attempt_gpus_idle" || kind.starts_with("interrupt_") || kind == "no_agreement" ||
                     kind == "node_silent" || kind == "node_refused" || kind == "save_failed";
  return warns || kind == "orphan" ? Style::kWarn : Style::kPlain;
}

}  // namespace

std::string EventLine(const glim::v1::Event& event, bool colour) {
  std::string what = event.kind();
  std::replace(what.begin(), what.end(), '_', ' ');
  const std::string tinted = Tint(Escaped(what), StyleOf(event.kind()), colour);
  const std::string why = event.message().empty() ? "" : ": " + Escaped(event.message());
  return fmt::format("{}  {:<10}  {}{}\n", FormatRfc3339({event.happened_at_ms()}), Escaped(Subject(event)), tinted,
                     why);
}

}  // namespace glim::cli
