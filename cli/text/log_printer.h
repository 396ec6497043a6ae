// Writes a log to stdout: the bytes as they came, or with JSON one object a line of the log. Keeps count of where the
// log stands, so that it can be asked for from there again. Borrows the Output; main thread.
#pragma once

#include <cstdint>
#include <string>

#include "cli/text/output.h"
#include "glim/v1/client_api.pb.h"

namespace glim::cli {

class LogPrinter {
 public:
  explicit LogPrinter(Output* output) : output_(output) {}

  void Take(const glim::v1::StreamLogResponse& part);
  // What is left of a last line without an end (JSON), then a flush.
  Status Finish();
  // Another attempt's log begins at 0.
  void NextAttempt(std::uint32_t attempt);

  std::uint32_t attempt() const { return attempt_; }  // 0: nothing has come yet
  std::int64_t offset() const { return offset_; }     // of the next byte

 private:
  void AddLines(const std::string& data);
  void PrintLine();

  Output* output_;
  std::uint32_t attempt_ = 0;
  std::int64_t offset_ = 0;
  std::string line_;  // JSON: the line so far, bounded
  std::int64_t line_offset_ = 0;
};

}  // namespace glim::cli
