// What callers are told while the store cannot be reached. Pure.
#pragma once

#include "sdk/base/status.h"
#include "sdk/base/time.h"

namespace glim::server {

// Is it the store's word that it is away: the commit's outcome is not known, and it is to be made again?
bool IsStoreAway(const Status& status);
// The refusal of what has not been tried: nothing has changed.
Status RefusedWhileAway(TimePoint since, TimePoint now);
// The answer to whom the last commit belonged to: it may have been stored, or may still be.
Status InDoubtWhileAway();

}  // namespace glim::server
