// Files read whole, with a bound. Stateless functions, any thread.
#pragma once

#include <cstddef>
#include <string>

#include "sdk/base/result.h"

namespace glim {

// All that `fd` gives from where it stands; the caller keeps the descriptor. Returns 0, or errno, then with an empty
// `text`: EFBIG when there are more than `bytes_max` bytes. For callers with an error of their own.
int ReadAll(int fd, std::size_t bytes_max, std::string& text);

// NOT_FOUND when there is no such file; RESOURCE_EXHAUSTED when it is longer than `bytes_max`. The message names the
// path.
Result<std::string> ReadFile(const std::string& path, std::size_t bytes_max);

}  // namespace glim
