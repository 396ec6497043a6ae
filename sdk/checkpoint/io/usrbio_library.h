// Finds 3FS's library at run time.
#pragma once

#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/io/usrbio.h"

namespace glim::checkpoint {

// Loads the library and looks its functions up. It stays loaded for good: it may have threads. UNAVAILABLE says which
// file or function is not there.
Result<UsrbioFunctions> LoadUsrbioLibrary(const std::string& library);

}  // namespace glim::checkpoint
