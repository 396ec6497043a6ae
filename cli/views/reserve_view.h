// Reservations as lines for people. Pure.
#pragma once

#include <string>

#include "glim/v1/reserve_api.pb.h"

namespace glim::cli {

// "4 nodes of pool a100 for team vision from 2026-12-01T08:00:00.000Z until ...: a deadline"
std::string ReservationLine(const glim::v1::Reservation& reservation);
// As it was, as it will be, and who would have to leave.
std::string ReservationChangeText(const glim::v1::SetReservationResponse& answer, bool colour);
std::string ReservationRemovedText(const glim::v1::RemoveReservationResponse& answer);
std::string ReservationTable(const glim::v1::ListReservationsResponse& list, bool colour);

}  // namespace glim::cli
