#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/views/views.h"

namespace glim::cli {
namespace {

using glim::v1::Uses;

struct Use {
  const char* word;
  const char* title;
  std::int64_t (Uses::*gpu_ms)() const;
};
constexpr std::array<Use, 8> kUses = {{{"productive", "PRODUCTIVE", &Uses::productive_gpu_ms},
                                       {"starting", "STARTING", &Uses::starting_gpu_ms},
                                       {"restoring", "RESTORING", &Uses::restoring_gpu_ms},
                                       {"stopping", "STOPPING", &Uses::stopping_gpu_ms},
                                       {"lost", "LOST", &Uses::lost_gpu_ms},
                                       {"claimed", "CLAIMED", &Uses::claimed_gpu_ms},
                                       {"free", "FREE", &Uses::free_gpu_ms},
                                       {"unavailable", "UNAVAILABLE", &Uses::unavailable_gpu_ms}}};

// A small cluster's hours would all read 0.00.
constexpr std::int64_t kHoursFromGpuMs = 100 * 3'600'000LL;

std::string Amount(std::int64_t gpu_ms, bool hours) {
  if (gpu_ms == 0) return "0";
  return fmt::format("{:.1f}", static_cast<double>(gpu_ms) / (hours ? 3'600'000 : 1000));
}

std::string NameOf(const glim::v1::ReportRow& row) {
  if (row.kind() == "others") return "(smaller ones)";
  if (row.kind() == "forgotten") return "(jobs not kept any more)";
  if (row.kind() == "no_job") return "(no job)";
  if (row.kind() == "removed") return "(removed nodes)";
  if (row.kind() == "team" && row.name().empty()) return "(no team)";
  if (row.kind() == "job") return fmt::format("{} {} ({})", row.name(), row.job_name(), row.user());
  return row.simulated_gpus() ? row.name() + " (simulated)" : row.name();
}

std::vector<Cell> RowCells(const std::string& name, const std::string& count, const Uses& uses, std::int64_t gpu_ms,
                           bool hours) {
  std::vector<Cell> cells = {name, count, Amount(gpu_ms, hours)};
  for (const Use& use : kUses) cells.push_back(Amount((uses.*use.gpu_ms)(), hours));
  return cells;
}

}  // namespace

std::string ReportTable(const glim::v1::GetReportResponse& report, bool colour) {
  const bool hours = report.total_gpu_ms() >= kHoursFromGpuMs;
  std::string title = report.by();
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  std::vector<Column> columns = {{title, false, 48},
                                 {report.by() == "pool" ? "NODES" : "JOBS", true},
                                 {hours ? "GPU-HOURS" : "GPU-SECONDS", true}};
  for (const Use& use : kUses) columns.push_back({use.title, true});
  Table table(std::move(columns));
  for (const auto& row : report.rows()) {
    table.AddRow(
        RowCells(NameOf(row), row.count() == 0 ? "-" : std::to_string(row.count()), row.uses(), row.gpu_ms(), hours));
  }
  table.AddRow(RowCells(report.simulated_gpus() ? "all (some simulated)" : "all", "-", report.total(),
                        report.total_gpu_ms(), hours));
  return table.Render(colour);
}

std::string UsesLine(const Uses& uses) {
  std::int64_t sum = 0;
  std::vector<std::pair<std::int64_t, const char*>> parts;
  for (const Use& use : kUses) {
    const std::int64_t gpu_ms = (uses.*use.gpu_ms)();
    sum += gpu_ms;
    if (gpu_ms != 0) parts.emplace_back(gpu_ms, use.word);
  }
  if (sum <= 0) return "";
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  const bool hours = sum >= 3'600'000;
  std::string line = fmt::format("{} GPU-{}: ", Amount(sum, hours), hours ? "hours" : "seconds");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    line += fmt::format("{}{} {:.1f} %", i == 0 ? "" : ", ", parts[i].second,
                        100.0 * static_cast<double>(parts[i].first) / static_cast<double>(sum));
  }
  return line;
}

}  // namespace glim::cli
