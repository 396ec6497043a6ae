// What `glim-scheduler settings` prints: what `glim doctor` asks for, one "key: value" a line, as it comes out of the
// configuration file and the command line. Nothing secret is in it.
#pragma once

#include <string>

#include "scheduler/server/config.h"

namespace glim::server {

// Pure. Of a PostgreSQL database the kind alone.
std::string SettingsText(const Config& config);

// Whether the configuration's PostgreSQL database answers this process, and by which version: "store_version: 15.3" or
// "store_fault: ...", and a newline; "" for another store. Connects, changes nothing; as long as libpq waits.
std::string StoreAnswerText(const Config& config);

}  // namespace glim::server
