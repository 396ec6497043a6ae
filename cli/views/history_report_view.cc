#include "cli/views/history_report_view.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "sdk/base/duration_text.h"
#include "sdk/base/rfc3339.h"

namespace glim::cli {
namespace {

using glim::v1::GetHistoryReportResponse;
using glim::v1::HistoryReportRow;

constexpr double kMsPerHour = 3'600'000;

// A column of a report: as people read it, and as programs do (CSV): milliseconds and whole numbers.
struct Figure {
  const char* title;
  const char* key;
  std::function<std::string(const HistoryReportRow&)> text;
  std::function<std::string(const HistoryReportRow&)> raw;
};

Figure Count(const char* title, const char* key, std::uint64_t (HistoryReportRow::*get)() const) {
  const auto write = [get](const HistoryReportRow& row) { return std::to_string((row.*get)()); };
  return {title, key, write, write};
}

Figure GpuTime(const char* title, const char* key, std::int64_t (HistoryReportRow::*get)() const) {
  return {title, key,
          [get](const HistoryReportRow& row) {
            const auto gpu_ms = (row.*get)();
            return gpu_ms == 0 ? std::string("0") : fmt::format("{:.2f}", static_cast<double>(gpu_ms) / kMsPerHour);
          },
          [get](const HistoryReportRow& row) { return std::to_string((row.*get)()); }};
}

std::string Share(std::int64_t part, std::int64_t of) {
  return of <= 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(of));
}

Figure ShareOfGpuTime(const char* title, const char* key, std::int64_t (HistoryReportRow::*get)() const) {
  return {title, key, [get](const HistoryReportRow& row) { return Share((row.*get)(), row.gpu_ms()); },
          [get](const HistoryReportRow& row) { return std::to_string((row.*get)()); }};
}

using Spread = glim::v1::Spread;
Figure Time(const char* title, const char* key, const Spread& (HistoryReportRow::*of)() const,
            std::int64_t (Spread::*get)() const) {
  return {title, key, [=](const HistoryReportRow& row) { return RoundedDurationText({((row.*of)().*get)()}); },
          [=](const HistoryReportRow& row) { return std::to_string(((row.*of)().*get)()); }};
}

std::string WhysOf(const HistoryReportRow& row, const char* between) {
  std::vector<std::pair<std::uint64_t, std::string>> whys;
  for (const auto& [why, count] : row.failures()) whys.emplace_back(count, why);
  std::sort(whys.begin(), whys.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  std::string text;
  for (const auto& [count, why] : whys) text += fmt::format("{}{}: {}", text.empty() ? "" : between, why, count);
  return text;
}

std::vector<Figure> Usage(const GetHistoryReportResponse& report) {
  std::vector<Figure> figures = {Count("JOBS", "jobs", &HistoryReportRow::jobs),
                                 GpuTime("GPU-HOURS", "gpu_ms", &HistoryReportRow::gpu_ms),
                                 GpuTime("PRODUCTIVE", "productive_gpu_ms", &HistoryReportRow::productive_gpu_ms),
                                 GpuTime("LOST", "lost_gpu_ms", &HistoryReportRow::lost_gpu_ms)};
  if (report.price_unit().empty()) return figures;
  const auto price = [](const HistoryReportRow& row) { return fmt::format("{:.2f}", row.price()); };
  figures.push_back({"PRICE", "price", price, price});
  return figures;
}

std::vector<Figure> Goodput() {
  const auto steps = [](const HistoryReportRow& row) { return std::to_string(row.steps_lost()); };
  return {GpuTime("GPU-HOURS", "gpu_ms", &HistoryReportRow::gpu_ms),
          ShareOfGpuTime("PRODUCTIVE", "productive_gpu_ms", &HistoryReportRow::productive_gpu_ms),
          ShareOfGpuTime("LOST", "lost_gpu_ms", &HistoryReportRow::lost_gpu_ms),
          Count("INTERRUPTS", "interrupts", &HistoryReportRow::interrupts),
          Count("RESTARTS", "restarts", &HistoryReportRow::restarts),
          {"STEPS LOST", "steps_lost", steps, steps}};
}

std::vector<Figure> Waits() {
  const auto wait = &HistoryReportRow::wait;
  const auto run = &HistoryReportRow::run;
  return {
      Count("JOBS", "jobs", &HistoryReportRow::jobs),      Time("WAIT MEAN", "wait_mean_ms", wait, &Spread::mean_ms),
      Time("P50", "wait_p50_ms", wait, &Spread::p50_ms),   Time("P90", "wait_p90_ms", wait, &Spread::p90_ms),
      Time("P99", "wait_p99_ms", wait, &Spread::p99_ms),   Time("MAX", "wait_max_ms", wait, &Spread::max_ms),
      Time("RUN P50", "run_p50_ms", run, &Spread::p50_ms), Time("P99", "run_p99_ms", run, &Spread::p99_ms)};
}

std::vector<Figure> Failures() {
  return {Count("JOBS", "jobs", &HistoryReportRow::jobs),
          Count("SUCCEEDED", "succeeded", &HistoryReportRow::succeeded),
          Count("CANCELLED", "cancelled", &HistoryReportRow::cancelled),
          Count("FAILED", "failed", &HistoryReportRow::failed),
          {"SHARE", "failed_share",
           [](const HistoryReportRow& row) {
             return Share(static_cast<std::int64_t>(row.failed()), static_cast<std::int64_t>(row.jobs()));
           },
           [](const HistoryReportRow& row) {
             return fmt::format(
                 "{:.4f}", row.jobs() == 0 ? 0.0 : static_cast<double>(row.failed()) / static_cast<double>(row.jobs()));
           }},
          {"WHY", "why", [](const HistoryReportRow& row) { return WhysOf(row, ", "); },
           [](const HistoryReportRow& row) { return WhysOf(row, "; "); }}};
}

std::vector<Figure> FiguresOf(ReportKind kind, const GetHistoryReportResponse& report) {
  switch (kind) {
    case ReportKind::kGoodput: return Goodput();
    case ReportKind::kWaits: return Waits();
    case ReportKind::kFailures: return Failures();
    default: return Usage(report);
  }
}

std::string NameOf(const GetHistoryReportResponse& report, const HistoryReportRow& row) {
  std::string name = row.name();
  if (report.by() == "job" && !row.user().empty()) name += fmt::format(" {} ({})", row.job_name(), row.user());
  if (name.empty()) name = "(no " + report.by() + ")";
  return row.simulated_gpus() ? name + " (simulated)" : name;
}

}  // namespace

std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string HistoryReportTable(ReportKind kind, const GetHistoryReportResponse& report, bool colour) {
  const std::vector<Figure> figures = FiguresOf(kind, report);
  std::string title = report.by();
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  std::vector<Column> columns = {{title, false, 48}};
  for (const Figure& figure : figures) {
    const bool price = figure.key == std::string("price");
    const bool words = figure.key == std::string("why");
    columns.push_back({price ? fmt::format("{} ({})", figure.title, report.price_unit()) : figure.title, !words});
  }
  Table table(std::move(columns));
  const auto add = [&](const std::string& name, const HistoryReportRow& row) {
    std::vector<Cell> cells = {name};
    for (const Figure& figure : figures) cells.emplace_back(figure.text(row));
    table.AddRow(std::move(cells));
  };
  for (const HistoryReportRow& row : report.rows()) add(NameOf(report, row), row);
  add(report.total().simulated_gpus() ? "all (some simulated)" : "all", report.total());
  return table.Render(colour);
}

std::string HistoryReportCsv(ReportKind kind, const GetHistoryReportResponse& report) {
  const std::vector<Figure> figures = FiguresOf(kind, report);
  const bool jobs = report.by() == "job";
  std::string text = report.by() + (jobs ? ",name,user" : "");
  for (const Figure& figure : figures) text += std::string(",") + figure.key;
  text += "\n";
  for (const HistoryReportRow& row : report.rows()) {
    text += CsvCell(row.name());
    if (jobs) text += "," + CsvCell(row.job_name()) + "," + CsvCell(row.user());
    for (const Figure& figure : figures) text += "," + CsvCell(figure.raw(row));
    text += "\n";
  }
  return text;
}

}  // namespace glim::cli
