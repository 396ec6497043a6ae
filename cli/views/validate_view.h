// What `glim-validate` printed in its job's log, for those who asked for it. Pure.
#pragma once

#include <string>
#include <vector>

namespace glim::cli {

struct Validation {
  struct Line {
    bool ok = true;
    std::string text;
  };
  std::vector<Line> lines;  // of each reading; what is none in the log is left out
};

Validation ReadValidation(const std::string& log);
// A line each, the bad ones first.
std::string ValidationText(const Validation& validation, bool colour);

}  // namespace glim::cli
