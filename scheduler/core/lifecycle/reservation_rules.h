// What a reservation may be.
#pragma once

#include "scheduler/core/model/cluster_state.h"
#include "sdk/base/status.h"

namespace glim::core {

// `after` would be a row beside the others; `before` is the row of its name, or null.
Status CheckReservation(const ClusterState& state, const Reservation* before, const Reservation& after, TimePoint now);

}  // namespace glim::core
