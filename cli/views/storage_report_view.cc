#include "cli/views/storage_report_view.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/views/history_report_view.h"
#include "sdk/base/rfc3339.h"
#include "sdk/base/size_text.h"

namespace glim::cli {
namespace {

using glim::v1::GetStorageReportResponse;
using glim::v1::StorageReportRow;

std::string Size(std::int64_t bytes) { return bytes <= 0 ? "0" : RoundedSizeText(static_cast<std::uint64_t>(bytes)); }

}  // namespace

std::string StorageReportTable(const GetStorageReportResponse& report, bool colour) {
  std::string title = report.by();
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  Table table({{title, false, 48}, {"JOBS", true}, {"ENDED", true}, {"SAVES", true}, {"SIZE", true}, {"SHARED", true}});
  const auto add = [&](std::string name, const StorageReportRow& row) {
    table.AddRow({std::move(name), std::to_string(row.jobs()), std::to_string(row.ended_jobs()),
                  std::to_string(row.saves()), Size(row.bytes()), Size(row.shared_bytes())});
  };
  for (const StorageReportRow& row : report.rows()) {
    std::string name = row.name().empty() ? "(no " + report.by() + ")" : row.name();
    if (!row.user().empty()) name += fmt::format(" {} ({})", row.job_name(), row.user());
    add(std::move(name), row);
  }
  add("all", report.total());
  return table.Render(colour);
}

std::string StorageReportCsv(const GetStorageReportResponse& report) {
  const bool jobs = report.by() == "job";
  std::string text = report.by() + (jobs ? ",name,user" : "") + ",jobs,ended_jobs,saves,bytes,shared_bytes\n";
  for (const StorageReportRow& row : report.rows()) {
    text += CsvCell(row.name());
    if (jobs) text += "," + CsvCell(row.job_name()) + "," + CsvCell(row.user());
    text +=
        fmt::format(",{},{},{},{},{}\n", row.jobs(), row.ended_jobs(), row.saves(), row.bytes(), row.shared_bytes());
  }
  return text;
}

std::string StorageReportNote(const GetStorageReportResponse& report) {
  const std::uint32_t nodes = report.nodes_told() + report.nodes_silent();
  std::string note = fmt::format("of {} nodes' own folders {}, the checkpoint root {}", nodes, report.nodes_told(),
                                 report.root_told() ? "is in it" : "is not in it");
  if (report.oldest_look_ms() > 0) note += ", as of " + FormatRfc3339(TimePoint{report.oldest_look_ms()}) + " or later";
  return note + "; folders that jobs name themselves (checkpoint.dir) are not";
}

}  // namespace glim::cli
