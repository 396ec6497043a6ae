#include "scheduler/core/model/reservation.h"

#include <algorithm>

#include "scheduler/core/model/cordon.h"
#include "sdk/base/rfc3339.h"

namespace glim::core {

bool IsOf(const Reservation& reservation, const std::string& team) {
  return !reservation.team.empty() && reservation.team == team;
}

bool KeepsOut(const Reservation& reservation, const std::string& team, TimePoint now) {
  return reservation.begins_at <= now && now < reservation.ends_at && !IsOf(reservation, team);
}

bool HasNode(const Reservation& reservation, NodeId node) {
  const auto at = std::lower_bound(reservation.nodes.begin(), reservation.nodes.end(), node,
                                   [](const ReservedNode& a, NodeId wanted) { return a.id < wanted; });
  return at != reservation.nodes.end() && at->id == node;
}

bool OverlapInTime(const Reservation& a, const Reservation& b) {
  return a.begins_at < b.ends_at && b.begins_at < a.ends_at;
}

std::string MomentInWords(TimePoint at) {
  const std::string text = FormatRfc3339(at);  // ...T08:00:00.000Z
  const std::size_t seconds = text.find('.') - 3;
  return at.ms % Minutes(1).ms == 0 ? text.substr(0, seconds) + "Z" : text.substr(0, seconds + 3) + "Z";
}

std::string ReservedWhat(const Reservation& reservation) {
  constexpr std::size_t kNamed = 8;
  if (reservation.node_names.empty()) {
    return std::to_string(reservation.share) + (reservation.share == 1 ? " node" : " nodes") + " of pool " +
           reservation.pool;
  }
  std::string text = reservation.node_names.size() == 1 ? "node " : "nodes ";
  const std::size_t said = std::min(kNamed, reservation.node_names.size());
  for (std::size_t i = 0; i < said; ++i) text += (i ? ", " : "") + reservation.node_names[i];
  const std::size_t more = reservation.node_names.size() - said;
  return more > 0 ? text + " and " + std::to_string(more) + " more" : text;
}

std::string ReservedInWords(const Reservation& reservation) {
  const std::string by = reservation.made_by.empty() ? "an operator" : reservation.made_by;
  return (reservation.team.empty() ? std::string("reserved for nobody") : "reserved for team " + reservation.team) +
         " from " + MomentInWords(reservation.begins_at) + " until " + MomentInWords(reservation.ends_at) + " by " +
         WithReason(by, reservation.reason);
}

}  // namespace glim::core
