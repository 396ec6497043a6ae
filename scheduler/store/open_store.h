// The store that a URL of the configuration names:
//   memory                  forgets at the end; for trying things out
//   sqlite:/var/lib/glim/scheduler.db
//   postgres:LOCATION       as postgres_conninfo.h says, for example postgres:service=glim
//   postgresql://user@host/dbname
// kInvalidArgument for anything else, and for a password in it.
#pragma once

#include <memory>
#include <string>

#include "scheduler/store/contract/store.h"

namespace glim::store {

Result<std::unique_ptr<Store>> OpenStore(const std::string& url);

// Of a PostgreSQL database: its version ("15.3"), if it answers this process. Nothing is changed. kUnavailable with the
// reason; kInvalidArgument for another store. Blocks as long as libpq does.
Result<std::string> AskStoreVersion(const std::string& url);

}  // namespace glim::store
