// Gangs whose ranks lost contact with each other, and none of which failed by itself: a cut of the network that no
// hardware check saw looks so, and the job goes on elsewhere. A program can bring that about, too: so only twice in a
// row. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

// Whether a rank's last words tell of a peer that it does not reach: of NCCL, Gloo, torch's store, MPI, UCX, hfreduce,
// or the system.
bool IsOfCommunication(std::string_view cause);

// After so many in a row, without a durable save in between, it is the program's fault.
inline constexpr std::uint32_t kContactsLostMax = 3;

struct LostContact {
  std::uint32_t times = 0;    // in a row, this one included; 0: it did not end so
  std::vector<NodeId> nodes;  // of all of those, ascending
};

// Of an attempt that failed by an exit: every rank that failed did so by an error of communication, none had ended
// before, and its tasks are on several nodes.
LostContact LostContactOf(const ClusterState& state, const Attempt& attempt);

}  // namespace glim::core
