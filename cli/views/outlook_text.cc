#include "cli/views/outlook_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/text.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/gpu_time_text.h"

namespace glim::cli {
namespace {

constexpr int kAheadShownMax = 5;

std::string In(std::int64_t at_ms, TimePoint now) {
  return at_ms <= now.ms ? std::string("now") : "in " + RoundedDurationText({at_ms - now.ms});
}

std::string AheadText(const glim::v1::Outlook& outlook) {
  if (outlook.ahead_count() == 0) return "nobody";
  std::string text = fmt::format("{} queued job{}: ", outlook.ahead_count(), outlook.ahead_count() == 1 ? "" : "s");
  const int shown = std::min(outlook.ahead_job_ids_size(), kAheadShownMax);
  for (int i = 0; i < shown; ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", outlook.ahead_job_ids(i));
  return static_cast<std::uint64_t>(shown) < outlook.ahead_count() ? text + ", ..." : text;
}

std::string EstimateText(const glim::v1::StartEstimate& estimate, TimePoint now) {
  const std::string why = Escaped(estimate.unknown());
  if (estimate.earliest_at_ms() == 0) return "unknown: " + why;
  const std::string earliest = In(estimate.earliest_at_ms(), now);
  if (estimate.latest_at_ms() == 0) return fmt::format("not before {}; how late is unknown: {}", earliest, why);
  const std::string latest = In(estimate.latest_at_ms(), now);
  return earliest == latest ? earliest : fmt::format("between {} and {}", earliest, latest);
}

}  // namespace

std::string BlockersTable(const google::protobuf::RepeatedPtrField<glim::v1::Blocker>& blockers, bool colour,
                          int indent) {
  if (blockers.empty()) return "";
  Table table({{"REASON"}, {"HAVE", true}, {"NEED", true}, {"HELD BY", false, 40}, {"WHY"}});
  for (const auto& blocker : blockers) {
    std::string holders;
    for (const std::uint64_t id : blocker.job_ids()) holders += (holders.empty() ? "" : ", ") + std::to_string(id);
    const bool amounts = blocker.have() != 0 || blocker.need() != 0;
    table.AddRow({blocker.kind(), amounts ? std::to_string(blocker.have()) : "-",
                  amounts ? std::to_string(blocker.need()) : "-", holders.empty() ? "-" : holders, blocker.message()});
  }
  return table.Render(colour, indent);
}

std::string OutlookLines(const glim::v1::Outlook& outlook, TimePoint now, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string text = fmt::format("{}before it    {}\n", margin, AheadText(outlook));
  text += fmt::format("{}start        {}\n", margin, EstimateText(outlook.estimate(), now));
  if (outlook.promised_by_at_ms() != 0) {
    text += fmt::format("{}promised     {} at the latest, unless higher classes take everything\n", margin,
                        In(outlook.promised_by_at_ms(), now));
  }
  return text;
}

std::string VictimsTable(const glim::v1::PlannedStart& start, bool colour, int indent) {
  if (start.victims_size() == 0) return "";
  Table table({{"INTERRUPTS", true},
               {"NAME", false, 32},
               {"USER"},
               {"PRIORITY"},
               {"COST", true},
               {"SINCE ITS SAVE", true},
               {"STEPS", true}});
  for (const auto& victim : start.victims()) {
    table.AddRow({std::to_string(victim.job_id()), victim.name(), victim.user(), victim.priority(),
                  GpuTimeText(victim.preemption_cost_gpu_ms()), RoundedDurationText({victim.since_save_ms()}),
                  std::to_string(victim.steps_since_save())});
  }
  return table.Render(colour, indent);
}

}  // namespace glim::cli
