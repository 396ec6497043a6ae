// A value of a log line.
#pragma once

#include <string>

namespace glim {

// In quotes, without line ends, bounded.
std::string Quoted(const std::string& text);

}  // namespace glim
