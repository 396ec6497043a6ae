#include "cli/text/render_table.h"
#include "cli/views/views.h"

namespace glim::cli {

std::string PolicyChangesTable(const std::vector<glim::v1::PolicyChange>& changes, bool colour) {
  Table table({{"FIELD"}, {"BEFORE", true}, {"AFTER", true}});
  for (const auto& change : changes) {
    table.AddRow({change.field(), change.before().empty() ? "-" : change.before(),
                  change.after().empty() ? Cell("removed", Style::kWarn) : Cell(change.after())});
  }
  return table.Render(colour);
}

}  // namespace glim::cli
