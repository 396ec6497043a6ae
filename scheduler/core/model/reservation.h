// Reservations: nodes that belong to a team, or to nobody, from when to when (lifecycle/reservations.h). The row, and
// pure questions about it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/core/model/ids.h"
#include "sdk/base/time.h"

namespace glim::core {

// A node that is its own, and since when.
struct ReservedNode {
  NodeId id;
  TimePoint since;
  friend bool operator==(const ReservedNode&, const ReservedNode&) = default;
};

struct Reservation {
  std::string name;
  std::string team;                     // whose jobs may be there; empty: nobody's (maintenance)
  std::string pool;                     // of a share; empty with `node_names`
  std::uint32_t share = 0;              // so many nodes of the pool; 0 with `node_names`
  std::vector<std::string> node_names;  // these very nodes, ascending
  TimePoint begins_at;
  TimePoint ends_at;
  std::string reason;
  std::string made_by;  // user; empty: of a scheduler that knows no users
  TimePoint made_at;
  std::vector<ReservedNode> nodes;  // that are its own, ascending; a share has none before they are chosen
  TimePoint begun_at;               // 0: it has not begun
  friend bool operator==(const Reservation&, const Reservation&) = default;
};

inline constexpr std::size_t kReservationsMax = 256;
inline constexpr std::size_t kReservedNamesMax = 10'000;  // nodes that one names
inline constexpr Duration kReservationLongest = Hours(24 * 92);
inline constexpr Duration kReservationAhead = Hours(24 * 366);  // it begins within

// May this team's jobs be on its nodes?
bool IsOf(const Reservation& reservation, const std::string& team);
// It is in force, and keeps the jobs of this team out.
bool KeepsOut(const Reservation& reservation, const std::string& team, TimePoint now);
bool HasNode(const Reservation& reservation, NodeId node);
bool OverlapInTime(const Reservation& a, const Reservation& b);

// "reserved for team vision from 2026-12-01T08:00Z until 2026-12-01T12:00Z by ann: a deadline"
std::string ReservedInWords(const Reservation& reservation);
// "2 nodes of pool a100", "nodes n1, n2"
std::string ReservedWhat(const Reservation& reservation);
// "2026-12-01T08:00Z", with seconds where there are some.
std::string MomentInWords(TimePoint at);

}  // namespace glim::core
