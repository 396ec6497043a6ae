// What callers are told while the store takes no changes: it cannot be reached, or has no room. Pure.
#pragma once

#include <string>

#include "sdk/base/status.h"
#include "sdk/base/time.h"

namespace glim::server {

// Is it the store's word that the commit is to be made again, for it is away (the outcome is not known) or has no room?
bool IsStoreAway(const Status& status);
// It has no room: what is stored may be read.
bool IsStoreFull(const Status& status);
// The refusal of what has not been tried: nothing has changed. `why` is what the store said.
Status RefusedWhileAway(const Status& why, TimePoint since, TimePoint now);
// The answer to whom the last commit belonged to: it may have been stored, or may still be.
Status InDoubtWhileAway(const Status& why);
// For operators: why nothing can be changed, and what to do.
std::string AwayInWords(const Status& why);

}  // namespace glim::server
