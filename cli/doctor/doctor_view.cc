#include "cli/doctor/doctor_view.h"

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/style.h"
#include "cli/text/text.h"

namespace glim::cli::doctor {
namespace {

constexpr int kSeenColumnsMax = 100;

Style StyleOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFault: return Style::kBad;
    case Verdict::kWarning: return Style::kWarn;
    case Verdict::kSkipped: return Style::kDim;
    case Verdict::kOk: break;
  }
  return Style::kGood;
}

std::string Counted(int count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Whole, for the table cuts what is long.
std::string MendingText(const Finding& finding) {
  const Check& check = *finding.check;
  std::string text = fmt::format("\n{} {} {}: {}\n", WordOf(check.role), check.name, WordOf(finding.outcome.verdict),
                                 Escaped(finding.outcome.seen));
  text += fmt::format("  why: {}\n", check.why);
  if (!finding.outcome.fix.empty()) text += fmt::format("  fix: {}\n", Escaped(finding.outcome.fix));
  return text;
}

}  // namespace

std::string SummaryText(const std::vector<Finding>& findings) {
  return fmt::format("{}, {}, {} skipped, {} ok", Counted(CountOf(findings, Verdict::kFault), "fault", "faults"),
                     Counted(CountOf(findings, Verdict::kWarning), "warning", "warnings"),
                     CountOf(findings, Verdict::kSkipped), CountOf(findings, Verdict::kOk));
}

std::string FindingsText(const std::vector<Finding>& findings, bool colour) {
  Table table({{"RESULT"}, {"ROLE"}, {"CHECK"}, {"SEEN", false, kSeenColumnsMax}});
  std::string mending;
  for (const Finding& finding : findings) {
    const Verdict verdict = finding.outcome.verdict;
    table.AddRow(
        {{WordOf(verdict), StyleOf(verdict)}, WordOf(finding.check->role), finding.check->name, finding.outcome.seen});
    if (verdict == Verdict::kFault || verdict == Verdict::kWarning) mending += MendingText(finding);
  }
  return table.Render(colour) + mending + "\n" + SummaryText(findings) + "\n";
}

Json FindingsJson(const std::vector<Role>& roles, const std::vector<Finding>& findings) {
  Json document = NewDocument();
  document["roles"] = Json::array();
  for (const Role role : roles) document["roles"].push_back(WordOf(role));
  for (const Verdict verdict : {Verdict::kFault, Verdict::kWarning, Verdict::kSkipped, Verdict::kOk}) {
    document["counts"][WordOf(verdict)] = CountOf(findings, verdict);
  }
  document["checks"] = Json::array();
  for (const Finding& finding : findings) {
    Json entry;
    entry["role"] = WordOf(finding.check->role);
    entry["check"] = finding.check->name;
    entry["result"] = WordOf(finding.outcome.verdict);
    entry["seen"] = finding.outcome.seen;
    entry["why"] = finding.check->why;
    entry["fix"] = finding.outcome.fix;
    document["checks"].push_back(std::move(entry));
  }
  return document;
}

}  // namespace glim::cli::doctor
