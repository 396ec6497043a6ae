// Whether this host's clock may be right, by when the store was last written: a start with a wrong clock shifts all
// that is planned (deadlines, reservations, tokens) and gives agents an epoch that they do not follow later. That it is
// right nevertheless says an operator: `glim-scheduler accept-clock` (scheduler/server/accept_clock.h). No call keeps
// the store, and all are for its owner's thread.
#pragma once

#include <string>

#include "scheduler/store/contract/store.h"

namespace glim::server {

inline constexpr Duration kClockOffMax = Hours(24);
// A leader writes it each hour: a cluster where nothing happens is not one that stands still.
inline constexpr const char* kClockMark = "clock";

// By the rows and the mark; 0: nothing was ever written.
Result<TimePoint> LastWritten(const core::ClusterState& rows, store::Store* store);

// FAILED_PRECONDITION, CLOCK_OFF: it is off by more than kClockOffMax, in either direction.
Status CheckClock(TimePoint last_written, TimePoint clock);

// Writes the mark, by the leader of that epoch. A store that does not take it is a line of the log: the next hour
// tries.
void NoteClock(std::uint64_t epoch, TimePoint clock, store::Store* store);

// An operator says that `clock` is right. What was done, in words. Where the store is ahead of it, its times are moved
// back, and its epoch is one of `clock`; else it is written down that so long nothing was written. It takes an epoch:
// who leads elsewhere ends. A call that was cut off is repeated; a store's error is returned as it is.
Result<std::string> AcceptClock(store::Store* store, TimePoint clock);

}  // namespace glim::server
