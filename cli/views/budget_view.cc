#include "cli/views/budget_view.h"

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "sdk/base/gpu_time_text.h"

namespace glim::cli {
namespace {

std::string Line(const glim::v1::Budget& budget) {
  return fmt::format("{}, of which {} are used since {}", GpuTimeText(budget.gpu_ms_max()),
                     GpuTimeText(budget.used_gpu_ms()), FormatRfc3339(TimePoint{budget.since_ms()}));
}

std::string UsedPercent(const glim::v1::Budget& budget) {
  const double share = static_cast<double>(budget.used_gpu_ms()) / static_cast<double>(budget.gpu_ms_max());
  return fmt::format("{:.1f} %", 100 * share);
}

}  // namespace

std::string BudgetChangeText(const glim::v1::SetBudgetResponse& answer) {
  const std::string& team = answer.has_after() ? answer.after().team() : answer.before().team();
  std::string text = fmt::format("budget of team {}\n", Escaped(team));
  if (answer.has_before()) text += fmt::format("  - {}\n", Line(answer.before()));
  if (!answer.has_after()) return text;
  text += fmt::format("  + {}\n", Line(answer.after()));
  if (answer.after().used_gpu_ms() < answer.after().gpu_ms_max()) return text;
  return text + "it is used up: none of the team's jobs starts; what runs runs on\n";
}

std::string BudgetTable(const glim::v1::ListBudgetsResponse& list, bool colour) {
  if (list.budgets().empty()) return "no team has a budget\n";
  Table table({{"TEAM"}, {"BUDGET", true}, {"USED", true}, {"SHARE", true}, {"SINCE"}, {"BY"}});
  for (const glim::v1::Budget& one : list.budgets()) {
    table.AddRow({one.team(), GpuTimeText(one.gpu_ms_max()), GpuTimeText(one.used_gpu_ms()), UsedPercent(one),
                  FormatRfc3339(TimePoint{one.since_ms()}), one.made_by().empty() ? "-" : one.made_by()});
  }
  return table.Render(colour);
}

}  // namespace glim::cli
