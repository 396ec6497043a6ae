#include "cli/views/hardware_report_view.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/views/history_report_view.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/rfc3339.h"

namespace glim::cli {
namespace {

using glim::v1::FailingNode;
using glim::v1::GetHardwareReportResponse;
using glim::v1::HardwareEnd;
using glim::v1::HardwarePeriod;
using glim::v1::XidRow;

constexpr double kMsInHour = 3'600'000;
constexpr auto kMsInDay = static_cast<double>(Hours(24).ms);

std::string_view KindInWords(const std::string& kind) {
  constexpr std::pair<std::string_view, std::string_view> kWords[] = {{"software", "software"},
                                                                      {"nvlink", "NVLink"},
                                                                      {"memory_ecc", "GPU memory ECC"},
                                                                      {"uncorrectable", "uncorrectable"},
                                                                      {"gsp", "GSP"}};
  for (const auto& [word, words] : kWords) {
    if (kind == word) return words;
  }
  return kind;
}

std::string XidTable(const GetHardwareReportResponse& report, bool colour) {
  Table table({{"XID", true},
               {"KIND"},
               {"COUNT", true},
               {"SHARE", true},
               {"NODES", true},
               {"GPUS", true},
               {"PROGRAM'S FAULT", true}});
  for (const XidRow& row : report.xids()) {
    table.AddRow({std::to_string(row.code()), std::string(KindInWords(row.kind())), std::to_string(row.count()),
                  fmt::format("{:.2f} %", 100 * row.share()), std::to_string(row.nodes()),
                  std::to_string(row.devices()), std::to_string(row.jobs_fault())});
  }
  return table.Render(colour);
}

std::string MonthTable(const GetHardwareReportResponse& report, bool colour) {
  Table table(
      {{"MONTH"}, {"GPU MEMORY ECC", true}, {"MAIN MEMORY ECC", true}, {"FLASH CUTS", true}, {"LINKS DOWN", true}});
  for (const HardwarePeriod& row : report.months()) {
    table.AddRow({row.period(), std::to_string(row.gpu_memory_ecc()), std::to_string(row.main_memory_ecc()),
                  std::to_string(row.flash_cuts()), std::to_string(row.links_down())});
  }
  return table.Render(colour);
}

// The most first.
std::string KindsOf(const FailingNode& node) {
  std::vector<std::pair<std::uint64_t, std::string>> kinds;
  for (const auto& [kind, count] : node.kinds()) kinds.emplace_back(count, kind);
  std::sort(kinds.begin(), kinds.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::string text;
  for (const auto& [count, kind] : kinds) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", KindInWords(kind), count);
  }
  return text;
}

std::string NodeTable(const GetHardwareReportResponse& report, bool colour) {
  Table table({{"NODE", false, 48}, {"STATE"}, {"FAILURES", true}, {"LAST"}, {"WHAT"}});
  for (const FailingNode& row : report.nodes()) {
    table.AddRow({row.name(), row.state(), std::to_string(row.failures()), FormatRfc3339(TimePoint{row.last_ms()}),
                  KindsOf(row)});
  }
  return table.Render(colour);
}

std::string TimeText(std::uint64_t count, std::int64_t ms) { return count == 0 ? "-" : RoundedDurationText({ms}); }

std::string EndTable(const GetHardwareReportResponse& report, bool colour) {
  Table table({{"ENDED BY"},
               {"ATTEMPTS", true},
               {"LOST GPU-HOURS", true},
               {"STEPS LOST", true},
               {"DETECT P50", true},
               {"P99", true},
               {"RECOVER P50", true},
               {"P99", true}});
  for (const HardwareEnd& row : report.ends()) {
    table.AddRow({row.outcome(), std::to_string(row.attempts()),
                  fmt::format("{:.2f}", static_cast<double>(row.lost_gpu_ms()) / kMsInHour),
                  std::to_string(row.steps_lost()), TimeText(row.detected(), row.detect().p50_ms()),
                  TimeText(row.detected(), row.detect().p99_ms()), TimeText(row.recovered(), row.recover().p50_ms()),
                  TimeText(row.recovered(), row.recover().p99_ms())});
  }
  return table.Render(colour);
}

class FigureLines {
 public:
  void Add(std::string_view table, const std::string& row, std::string_view figure, const std::string& value) {
    text_ += fmt::format("{},{},{},{}\n", table, CsvCell(row), figure, CsvCell(value));
  }
  template <typename Number>
  void Add(std::string_view table, const std::string& row, std::string_view figure, Number value) {
    Add(table, row, figure, fmt::format("{}", value));
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_ = "table,row,figure,value\n";
};

void AddPeriod(FigureLines& lines, std::string_view table, const HardwarePeriod& row) {
  if (table == "month") {
    lines.Add(table, row.period(), "gpu_memory_ecc", row.gpu_memory_ecc());
    lines.Add(table, row.period(), "main_memory_ecc", row.main_memory_ecc());
  }
  lines.Add(table, row.period(), "flash_cuts", row.flash_cuts());
  lines.Add(table, row.period(), "links_down", row.links_down());
}

void AddEnd(FigureLines& lines, const HardwareEnd& row) {
  lines.Add("ended_by", row.outcome(), "attempts", row.attempts());
  lines.Add("ended_by", row.outcome(), "lost_gpu_ms", row.lost_gpu_ms());
  lines.Add("ended_by", row.outcome(), "steps_lost", row.steps_lost());
  if (row.detected() > 0) {
    lines.Add("ended_by", row.outcome(), "detect_p50_ms", row.detect().p50_ms());
    lines.Add("ended_by", row.outcome(), "detect_p99_ms", row.detect().p99_ms());
  }
  if (row.recovered() == 0) return;
  lines.Add("ended_by", row.outcome(), "recover_p50_ms", row.recover().p50_ms());
  lines.Add("ended_by", row.outcome(), "recover_p99_ms", row.recover().p99_ms());
}

}  // namespace

std::string HardwareReportTables(const GetHardwareReportResponse& report, bool colour) {
  std::string text;
  const auto add = [&text](const std::string& table) { text += (text.empty() ? "" : "\n") + table; };
  if (report.xids_size() > 0) add(XidTable(report, colour));
  if (report.months_size() > 0) add(MonthTable(report, colour));
  if (report.nodes_size() > 0) add(NodeTable(report, colour));
  add(EndTable(report, colour));
  return text;
}

std::string HardwareReportCsv(const GetHardwareReportResponse& report) {
  FigureLines lines;
  for (const XidRow& row : report.xids()) {
    const std::string code = std::to_string(row.code());
    lines.Add("xid", code, "kind", row.kind());
    lines.Add("xid", code, "count", row.count());
    lines.Add("xid", code, "share", fmt::format("{:.4f}", row.share()));
    lines.Add("xid", code, "nodes", row.nodes());
    lines.Add("xid", code, "gpus", row.devices());
    lines.Add("xid", code, "programs_fault", row.jobs_fault());
  }
  for (const HardwarePeriod& row : report.months()) AddPeriod(lines, "month", row);
  for (const HardwarePeriod& row : report.days()) AddPeriod(lines, "day", row);
  for (const FailingNode& row : report.nodes()) {
    lines.Add("node", row.name(), "state", row.state());
    lines.Add("node", row.name(), "failures", row.failures());
    lines.Add("node", row.name(), "last_ms", row.last_ms());
    lines.Add("node", row.name(), "what", KindsOf(row));
  }
  for (const HardwareEnd& row : report.ends()) AddEnd(lines, row);
  lines.Add("mtbf", "all", "failures", report.mtbf().failures());
  lines.Add("mtbf", "all", "node_ms", report.mtbf().node_ms());
  lines.Add("mtbf", "all", "node_days_low", fmt::format("{:.3f}", report.mtbf().node_days_low()));
  if (report.mtbf().failures() > 0) {
    lines.Add("mtbf", "all", "node_days", fmt::format("{:.3f}", report.mtbf().node_days()));
    lines.Add("mtbf", "all", "node_days_high", fmt::format("{:.3f}", report.mtbf().node_days_high()));
  }
  return std::move(lines).text();
}

std::string HardwareReportNote(const GetHardwareReportResponse& report) {
  const auto& mtbf = report.mtbf();
  if (report.since_ms() == 0 || mtbf.node_ms() == 0) return "no node was registered in that time, as far as is kept";
  std::string note =
      fmt::format("{} failures in {:.1f} node-days from {} to {}: ", mtbf.failures(),
                  static_cast<double>(mtbf.node_ms()) / kMsInDay, FormatRfc3339(TimePoint{report.since_ms()}),
                  FormatRfc3339(TimePoint{report.until_ms()}));
  if (mtbf.failures() == 0) {
    return note + fmt::format("a node fails once in at least {:.1f} days (95 %)", mtbf.node_days_low());
  }
  return note + fmt::format(
                    "{:.2f} a day in a thousand nodes (95 %: {:.2f} to {:.2f}), a node fails once in {:.1f} days "
                    "({:.1f} to {:.1f})",
                    mtbf.per_1000_node_days(), mtbf.per_1000_node_days_low(), mtbf.per_1000_node_days_high(),
                    mtbf.node_days(), mtbf.node_days_low(), mtbf.node_days_high());
}

}  // namespace glim::cli
