// Reservations as messages.
#pragma once

#include <string>
#include <vector>

#include "glim/v1/reserve_api.pb.h"
#include "scheduler/core/model/reservation.h"
#include "scheduler/server/loop/snapshot.h"

namespace glim::server {

void ReservationToProto(const Snapshot& snapshot, const core::Reservation& row, v1::Reservation* out);
// What its maker says.
core::Reservation ReservationOf(const v1::Reservation& message);

// In words, of each reservation whose node it is, by begin: "r1: reserved for team vision from ... by ann: a deadline".
std::vector<std::string> ReservedWords(const Snapshot& snapshot, core::NodeId node);

}  // namespace glim::server
