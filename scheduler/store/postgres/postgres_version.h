// Whether a PostgreSQL database answers, for whoever looks after the machine. Blocks as long as libpq does
// (connect_timeout); any thread.
#pragma once

#include <string>

#include "sdk/base/result.h"

namespace glim::store {

// "15.3". `location` as in postgres_conninfo.h. UNAVAILABLE with libpq's reason, which names no password.
Result<std::string> AskPostgresVersion(const std::string& location);

}  // namespace glim::store
