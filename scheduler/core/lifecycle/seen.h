// Changes that somebody decided on by what they saw: refused where it is not so any more. Pure.
#pragma once

#include <optional>
#include <string>

#include "scheduler/core/model/event.h"
#include "sdk/base/status.h"

namespace glim::core {

// ABORTED, CHANGED_MEANWHILE. `what`: "node n7", "reservation r1".
Status ChangedMeanwhile(const std::string& what);

// What changes by itself does not count: that a drain is through, which nodes a reservation has got, and
// what was used of a budget.
bool IsAsSeen(const std::optional<Cordon>& now, const Seen<Cordon>& seen);
bool IsAsSeen(const Reservation* now, const Seen<Reservation>& seen);
bool IsAsSeen(const Budget* now, const Seen<Budget>& seen);

}  // namespace glim::core
