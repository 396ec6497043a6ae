// Bounded reading of files and of standard input. Any thread.
#pragma once

#include <cstddef>
#include <string>

#include "sdk/base/result.h"

namespace glim::cli {

// The whole of `path` ("-": standard input), at most `bytes_max`. A fault is kInvalidArgument that names the file:
// a wrong file name is a wrong command line.
Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max);

}  // namespace glim::cli
