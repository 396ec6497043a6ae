// What `glim doctor` shows. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/finding.h"
#include "cli/text/render_json.h"

namespace glim::cli::doctor {

// A table, faults first; below it how each fault and warning is mended, and a line that sums up.
std::string FindingsText(const std::vector<Finding>& findings, bool colour);
// "2 faults, 1 warning, 5 skipped, 20 ok".
std::string SummaryText(const std::vector<Finding>& findings);
Json FindingsJson(const std::vector<Role>& roles, const std::vector<Finding>& findings);

}  // namespace glim::cli::doctor
