// Writes a log to stdout: the bytes as they came, or with JSON one object a line of the log; on a terminal what would
// be a command to that, but for colours, made visible (terminal_text.h). Keeps count of where the log stands, so that
// it can be asked for from there again. Borrows the Output; main thread.
#pragma once

#include <cstdint>
#include <string>

#include "cli/text/output.h"
#include "cli/text/terminal_text.h"
#include "glim/v1/client_api.pb.h"

namespace glim::cli {

class LogPrinter {
 public:
  // `raw`: also a terminal gets the bytes as they came.
  LogPrinter(Output* output, bool raw) : output_(output), made_safe_(output->to_terminal() && !raw) {}

  void Take(const glim::v1::StreamLogResponse& part);
  // What is left of a last line without an end, then a flush.
  Status Finish();
  // Another attempt's log begins at 0.
  void NextAttempt(std::uint32_t attempt);

  std::uint32_t attempt() const { return attempt_; }  // 0: nothing has come yet
  std::int64_t offset() const { return offset_; }     // of the next byte

 private:
  void EndPart();  // what follows does not go on from what came
  void AddLines(const std::string& data);
  void PrintLine();

  Output* output_;
  const bool made_safe_;
  TerminalText safe_;
  std::uint32_t attempt_ = 0;
  std::int64_t offset_ = 0;
  std::string line_;  // JSON: the line so far, bounded
  std::int64_t line_offset_ = 0;
};

}  // namespace glim::cli
