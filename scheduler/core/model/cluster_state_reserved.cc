// Reservations, and what the index has of them.
#include <algorithm>
#include <string>
#include <utility>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

void ClusterState::IndexReservation(const Reservation& row, bool add) {
  const std::pair turn(row.begun_at ? row.ends_at : row.begins_at, row.name);
  if (add) {
    index_.reservation_turns.insert(turn);
  } else {
    index_.reservation_turns.erase(turn);
  }
  for (const ReservedNode& node : row.nodes) {
    std::set<std::string>& names = index_.reserved[node.id];
    if (add) {
      names.insert(row.name);
    } else {
      names.erase(row.name);
    }
    if (names.empty()) index_.reserved.erase(node.id);
  }
}

std::shared_ptr<const Reservation> ClusterState::Put(Reservation row) {
  if (const Reservation* old = FindReservation(row.name)) IndexReservation(*old, false);
  newest = std::max({newest, row.made_at, row.begun_at});
  const auto stored = std::make_shared<const Reservation>(std::move(row));
  Keep(tables_.reservations.Put(stored->name, stored));
  IndexReservation(*stored, true);
  return stored;
}

void ClusterState::Erase(const std::string& name) {
  const Reservation* reservation = FindReservation(name);
  if (!reservation) return;
  IndexReservation(*reservation, false);
  Keep(tables_.reservations.Erase(name));
}

}  // namespace glim::core
