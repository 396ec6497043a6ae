// Where a command's words go: data to stdout, prose to stderr, nothing but JSON with `-o json`.
// Borrows the two streams; used by the main thread only.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "sdk/base/status.h"

namespace glim::cli {

enum class OutputFormat { kTable, kJson, kYaml };

class Output {
 public:
  Output(std::FILE* data, std::FILE* prose, OutputFormat format, bool colour);

  OutputFormat format() const { return format_; }
  bool json() const { return format_ == OutputFormat::kJson; }
  bool colour() const { return colour_; }

  // Data, whole; on a terminal nothing in it but colours is a command to that (terminal_text.h).
  void Data(std::string_view text);
  // Data, as it is, whatever it may do to a terminal.
  void Raw(std::string_view text);
  bool to_terminal() const { return to_terminal_; }
  // So that who follows sees what there is.
  void Flush();
  // One line for people; escaped here, and left out with JSON.
  void Note(std::string_view line);
  // On stderr, in the chosen format.
  void Error(const Status& status);
  // Flushes; fails if stdout could not take everything (a full disk).
  Status Finish();

 private:
  std::FILE* data_;
  std::FILE* prose_;
  OutputFormat format_;
  bool colour_;
  bool to_terminal_;
  bool failed_ = false;
};

}  // namespace glim::cli
