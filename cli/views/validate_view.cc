#include "cli/views/validate_view.h"

#include <algorithm>
#include <sstream>

#include "cli/text/render_json.h"
#include "cli/text/render_table.h"

namespace glim::cli {

Validation ReadValidation(const std::string& log) {
  Validation validation;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const Json one = Json::parse(line, nullptr, false);
    if (!one.is_object() || !one.contains("ok") || !one["ok"].is_boolean()) continue;
    if (!one.contains("text") || !one["text"].is_string()) continue;
    validation.lines.push_back({one["ok"], one["text"]});
  }
  return validation;
}

std::string ValidationText(const Validation& validation, bool colour) {
  Table table({{"RESULT"}, {"WHAT WAS MEASURED"}});
  for (const bool ok : {false, true}) {
    for (const Validation::Line& line : validation.lines) {
      if (line.ok == ok) table.AddRow({ok ? Cell("ok") : Cell("bad", Style::kBad), line.text});
    }
  }
  return table.Render(colour);
}

}  // namespace glim::cli
