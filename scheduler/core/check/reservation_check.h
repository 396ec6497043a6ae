// What holds of reservations after every event; a part of CheckInvariants (invariants.h).
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

// A sentence for every violation.
//   - one that is due is in force, and one that is over is gone
//   - a node is no more than one's that is in force
//   - while one is in force no attempt of others begins on its nodes, nobody else waits for them, and who else is there
//     has been asked to leave (once a pass has run)
std::vector<std::string> CheckReservations(const ClusterState& state, TimePoint now);

}  // namespace glim::core
