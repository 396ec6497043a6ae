// `glim-scheduler break-glass`: a new token of an administrator, for when there is none left. Whoever may read the key
// file on the scheduler's host may have one; it is audited, and expires after a day.
//
// The scheduler that runs there is asked by its control socket. Where none runs, the store is opened here, as a
// scheduler that begins and ends: with SQLite the store's lock tells whether one runs; with PostgreSQL one on another
// host would lose its place to this, so that has to be said in so many words.
#pragma once

#include <string>

#include "scheduler/server/config.h"

namespace glim::server {

struct BreakGlass {
  std::string user;              // empty: an administrator that there is
  bool take_leadership = false;  // with PostgreSQL: although another scheduler may lead, which then begins anew
  bool new_keys = false;         // instead: forget all that was sealed by a key file that is lost
};

// The token; with `new_keys` empty. Blocks. FAILED_PRECONDITION: KEY_FILE_LOST, NO_IDENTITY, OTHER_LEADER.
Result<std::string> RunBreakGlass(const Config& config, const BreakGlass& order);

}  // namespace glim::server
