// What a program that failed said last. Blocking; any thread.
#pragma once

#include <string>

namespace glim::nodeagent {

// The last line of the file that is not blank, with what a terminal would act on escaped, of a long one its two ends;
// `none` if there is no such line.
std::string LastLineIn(const std::string& path, const std::string& none);

}  // namespace glim::nodeagent
