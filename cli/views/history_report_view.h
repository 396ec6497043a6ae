// Reports over the history, for people (tables) and for spreadsheets (CSV). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "glim/v1/report_api.pb.h"

namespace glim::cli {

enum class ReportKind : std::uint8_t { kUsage, kGoodput, kWaits, kFailures };

// As a spreadsheet reads it: in quotes where it has to be.
std::string CsvCell(const std::string& text);
// The rows and their sum. GPU-time in hours, times in words.
std::string HistoryReportTable(ReportKind kind, const glim::v1::GetHistoryReportResponse& report, bool colour);
// The rows alone, with a line of names; milliseconds and whole numbers.
std::string HistoryReportCsv(ReportKind kind, const glim::v1::GetHistoryReportResponse& report);

}  // namespace glim::cli
