// Files that hold a secret: read only when they are ours and closed to everybody else. Stateless functions, any thread.
#pragma once

#include <cstddef>
#include <string>

#include "sdk/base/result.h"

namespace glim {

// All of the regular file at `path`. NOT_FOUND: there is none. PERMISSION_DENIED (NOT_PRIVATE): it belongs to another
// user than this program's, or its group or others may read or write it; the fix says what to do.
// INVALID_ARGUMENT: it is no regular file. RESOURCE_EXHAUSTED: it is longer than `bytes_max`. No message quotes what
// is in the file.
Result<std::string> ReadPrivateFile(const std::string& path, std::size_t bytes_max);

}  // namespace glim
