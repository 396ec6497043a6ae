// Why a program failed, in one line, from the end of what it wrote. Pure; takes any bytes.
//
// The last line of the first Python traceback ("ModuleNotFoundError: No module named 'glim'"): of a chain of exceptions
// that is where the trouble began, and of a launcher's output the worker's own traceback stands before the launcher's.
// Without a traceback: the last line that says something. None of a program that was killed (SIGKILL): it did not know,
// and its last line is about something else. A line of Glim's own ("glim: ...") only where there is no other.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace glim::nodeagent {

inline constexpr std::size_t kCauseBytesMax = 400;
// How much of a log is looked at.
inline constexpr std::size_t kCauseTailBytes = 256 * 1024;

// Valid UTF-8 of at most kCauseBytesMax bytes, without control characters; empty when `output` says nothing.
std::string FailureCause(std::string_view output, bool was_killed = false);

}  // namespace glim::nodeagent
