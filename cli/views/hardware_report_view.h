// What hardware failed, for people (tables) and for spreadsheets (CSV). Pure.
#pragma once

#include <string>

#include "glim/v1/report_api.pb.h"

namespace glim::cli {

// Xids by number, memory and links by month, nodes by failures, what hardware ended. A table with nothing in it is left
// out.
std::string HardwareReportTables(const glim::v1::GetHardwareReportResponse& report, bool colour);
// One figure a line, days of links included: table, row, figure, value. Milliseconds and whole numbers.
std::string HardwareReportCsv(const glim::v1::GetHardwareReportResponse& report);
// From when to when, and how often a node fails, in one line.
std::string HardwareReportNote(const glim::v1::GetHardwareReportResponse& report);

}  // namespace glim::cli
