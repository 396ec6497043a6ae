// GLIM_CHECK(condition, message): an invariant of ours, on in production. A violation is a bug: it says where, and
// aborts, because going on with a broken state could lose somebody's work. Operating errors return Status instead.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace glim::internal {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition, const std::string& message) {
  std::fprintf(stderr, "%s:%d: CHECK failed: %s: %s\n", file, line, condition, message.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace glim::internal

#define GLIM_CHECK(condition, message)                                          \
  do {                                                                          \
    if (!(condition)) [[unlikely]]                                              \
      ::glim::internal::CheckFailed(__FILE__, __LINE__, #condition, (message)); \
  } while (false)
