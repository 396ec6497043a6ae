#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cli/text/text.h"
#include "cli/views/outlook_text.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

constexpr std::size_t kNodesShownMax = 8;  // of a zone

// "n1, n2 in zone A; n5 in zone B"
std::string NodesText(const glim::v1::PlannedStart& start) {
  std::map<std::string, std::vector<std::string>> by_zone;
  for (const auto& node : start.nodes()) by_zone[node.zone()].push_back(node.name());
  std::string text;
  for (const auto& [zone, names] : by_zone) {
    text += text.empty() ? "" : "; ";
    for (std::size_t i = 0; i < std::min(names.size(), kNodesShownMax); ++i) text += (i ? ", " : "") + names[i];
    if (names.size() > kNodesShownMax) text += fmt::format(" and {} more", names.size() - kNodesShownMax);
    text += " in zone " + zone;
  }
  return Escaped(text);
}

std::string StartLines(const glim::v1::PlannedStart& start, bool colour) {
  std::string text = fmt::format("  nodes        {}\n", NodesText(start));
  text += fmt::format("  charged to   {}{}\n", Escaped(start.priority()),
                      start.borrowed() ? ", beyond quota: it is the first to give its nodes back" : "");
  return text + VictimsTable(start, colour, 2);
}

}  // namespace

std::string PlanText(const glim::v1::PlanJobResponse& plan, TimePoint now, bool colour) {
  std::string text;
  for (const auto& job : plan.jobs()) {
    text += Escaped(job.name()) + " ";
    if (job.has_start()) {
      text += Escaped(job.start().message()) + "\n" + StartLines(job.start(), colour);
    } else {
      text += "would wait\n" + BlockersTable(job.blockers(), colour, 2) + OutlookLines(job.outlook(), now, 2);
    }
    if (!job.saves().empty()) text += fmt::format("  {}\n", Escaped(job.saves()));
  }
  return text;
}

}  // namespace glim::cli
