// Pools, zones, links, users, teams and quotas: as tables, as the file that `set --file` reads, and what of them
// differs between two. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/text/render_json.h"
#include "glim/v1/layout_api.pb.h"

namespace glim::cli {

std::string PoolsTable(const glim::v1::ListLayoutResponse& layout, bool colour);
std::string ZonesTable(const glim::v1::ListLayoutResponse& layout, bool colour);
std::string LinksTable(const glim::v1::ListLayoutResponse& layout, bool colour);

// The fields of a row that have not their defaults, by the keys of a file.
Json RowJson(const glim::v1::RowChange& row);
// "pools:\n  - {name: a100, note: \"the new rack\"}\n"; of no row "pools: []\n".
std::string RowsYaml(const std::string& section, const std::vector<glim::v1::RowChange>& rows);

// One row that differs; a null `before`: it is new, a null `after`: it goes.
struct RowDifference {
  std::string name;  // NameOfRow
  Json before;
  Json after;
};
// "+ pool a100: note \"the new rack\"", "~ link A-B: jobs_max 1 -> 2", "- zone C", a line each.
std::string DifferencesText(const std::vector<RowDifference>& differences, bool colour);
Json DifferencesJson(const std::vector<RowDifference>& differences);

}  // namespace glim::cli
