// What jobs' saves take, for people (a table) and for spreadsheets (CSV). Pure.
#pragma once

#include <string>

#include "glim/v1/report_api.pb.h"

namespace glim::cli {

// The rows and their sum; sizes in words.
std::string StorageReportTable(const glim::v1::GetStorageReportResponse& report, bool colour);
// The rows alone, with a line of names; bytes.
std::string StorageReportCsv(const glim::v1::GetStorageReportResponse& report);
// What is in it and what is not, in one line.
std::string StorageReportNote(const glim::v1::GetStorageReportResponse& report);

}  // namespace glim::cli
