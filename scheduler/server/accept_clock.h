// `glim-scheduler accept-clock`: an operator says that this host's clock is right, where a start was refused because
// the store was written by another one (loop/store_clock.h). Starts no scheduler, and none may run: with SQLite the
// store's lock tells.
#pragma once

#include <string>

#include "scheduler/server/config.h"

namespace glim::server {

// What was done, in words. Blocks.
Result<std::string> RunAcceptClock(const Config& config);

}  // namespace glim::server
