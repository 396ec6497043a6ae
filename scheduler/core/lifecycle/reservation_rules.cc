#include "scheduler/core/lifecycle/reservation_rules.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "scheduler/core/lifecycle/node_remove.h"
#include "scheduler/core/model/account_access.h"
#include "scheduler/core/model/cordon.h"

namespace glim::core {
namespace {

Status CheckWords(const ClusterState& state, const Reservation& after) {
  if (!IsAccountName(after.name)) {
    return InvalidArgument("name", "'" + after.name.substr(0, 64) + "' is no name",
                           "use 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
  if (after.reason.empty()) {
    return InvalidArgument("reason", "is missing", "say why, for those who ask for the nodes");
  }
  if (Status reason = CheckReason(after.reason); !reason.ok()) return reason;
  if (after.team.empty() || IsTeam(state.accounts(), after.team)) return Status::Ok();
  return InvalidArgument("team", "there is no team " + after.team.substr(0, 64),
                         "glim admin team list shows the teams; without a team it is nobody's");
}

// A request cannot tell "nobody's" from "not said".
Status CheckTeamStays(const Reservation* before, const Reservation& after) {
  if (before == nullptr || before->team.empty() || !after.team.empty()) return Status::Ok();
  return InvalidArgument(
      "team", "is not given, and " + after.name + " is of team " + before->team,
      "say the team again; to make it nobody's: glim admin reserve rm " + after.name + ", and set it anew");
}

Status CheckTimes(const Reservation* before, const Reservation& after, TimePoint now) {
  if (after.ends_at <= after.begins_at) {
    return InvalidArgument("ends_at_ms", "it ends before it begins", "say an end behind its begin");
  }
  if (after.ends_at <= now) return InvalidArgument("ends_at_ms", "it lies in the past", "say an end that is to come");
  const bool as_it_was = before && before->begins_at == after.begins_at;
  if (after.begins_at < now && !as_it_was) {
    return InvalidArgument("begins_at_ms", "it lies in the past", "say a begin that is to come, or none for now");
  }
  if (after.ends_at - after.begins_at > kReservationLongest) {
    return InvalidArgument("ends_at_ms", "it lasts more than 92 days",
                           "make it shorter, and another when it is nearly over; for good, label nodes for a pool");
  }
  if (after.begins_at > now + kReservationAhead) {
    return InvalidArgument("begins_at_ms", "it begins in more than 366 days", "make it when it is nearer");
  }
  return Status::Ok();
}

Status CheckNodes(const ClusterState& state, const Reservation& after) {
  if (after.node_names.empty() == (after.share == 0)) {
    return InvalidArgument("nodes", "is neither a number of nodes of a pool nor names of nodes, or both",
                           "say one of the two");
  }
  if (!after.node_names.empty() && !after.pool.empty()) {
    return InvalidArgument("pool", "is given beside names of nodes", "leave the pool out: named nodes are of any");
  }
  if (after.node_names.size() > kReservedNamesMax) {
    return InvalidArgument("node_names", "are more than " + std::to_string(kReservedNamesMax),
                           "reserve a share of a pool");
  }
  for (const std::string& name : after.node_names) {
    if (!state.index().node_by_name.contains(name)) return NoSuchNode(name);
  }
  if (after.share > 0 && !state.layouts().pools.contains(after.pool)) {
    return InvalidArgument("pool", "there are no nodes in pool '" + after.pool.substr(0, 64) + "'",
                           "glim nodes lists the nodes with their pools");
  }
  return Status::Ok();
}

// Those that are not over when `after` begins, without the one of its name.
std::vector<const Reservation*> Beside(const ClusterState& state, const Reservation& after) {
  std::vector<const Reservation*> beside;
  state.tables().reservations.ForEach([&](const std::string& name, const Reservation& row) {
    if (name != after.name && OverlapInTime(row, after)) beside.push_back(&row);
  });
  return beside;
}

std::map<std::string, std::size_t> NodesByPool(const ClusterState& state, const Reservation& reservation) {
  std::map<std::string, std::size_t> nodes;
  if (reservation.share > 0) nodes[reservation.pool] = reservation.share;
  for (const std::string& name : reservation.node_names) {
    const auto id = state.index().node_by_name.find(name);
    if (id != state.index().node_by_name.end()) ++nodes[state.FindNode(id->second)->labels.pool];
  }
  return nodes;
}

Status CheckOthers(const ClusterState& state, const Reservation& after) {
  const std::vector<const Reservation*> beside = Beside(state, after);
  for (const Reservation* other : beside) {
    for (const std::string& name : after.node_names) {
      if (!std::binary_search(other->node_names.begin(), other->node_names.end(), name)) continue;
      return Status(StatusCode::kFailedPrecondition,
                    "node " + name + " is reserved then already, by " + other->name + ": " + ReservedInWords(*other))
          .WithReason("RESERVED_ALREADY")
          .WithField("node_names")
          .WithFix("choose other nodes or other times, or: glim admin reserve rm " + other->name);
    }
  }
  // At any one time a pool has as many nodes as are reserved of it: the most are when one of them begins.
  for (const auto& asked : NodesByPool(state, after)) {
    const std::string& pool = asked.first;
    const std::size_t nodes = asked.second;
    const auto layout = state.layouts().pools.find(pool);
    const std::size_t there = layout == state.layouts().pools.end() ? 0 : layout->second.nodes.size();
    std::size_t most = 0;
    const auto at = [&](TimePoint moment) {
      std::size_t sum = 0;
      for (const Reservation* other : beside) {
        if (other->begins_at > moment || other->ends_at <= moment) continue;
        const auto of_other = NodesByPool(state, *other);
        const auto in_pool = of_other.find(pool);
        if (in_pool != of_other.end()) sum += in_pool->second;
      }
      most = std::max(most, sum);
    };
    at(after.begins_at);
    for (const Reservation* other : beside) {
      if (other->begins_at > after.begins_at) at(other->begins_at);
    }
    if (nodes + most <= there) continue;
    const std::string taken = most > 0 ? ", and " + std::to_string(most) + " are reserved then already" : "";
    return InvalidArgument("nodes",
                           "pool " + pool + " has " + std::to_string(there) + (there == 1 ? " node" : " nodes") +
                               taken + "; " + std::to_string(nodes) + " are asked for",
                           "reserve fewer, or at other times; glim admin reserve ls lists what there is");
  }
  return Status::Ok();
}

}  // namespace

Status CheckReservation(const ClusterState& state, const Reservation* before, const Reservation& after, TimePoint now) {
  if (Status words = CheckWords(state, after); !words.ok()) return words;
  if (Status team = CheckTeamStays(before, after); !team.ok()) return team;
  if (Status times = CheckTimes(before, after, now); !times.ok()) return times;
  if (Status nodes = CheckNodes(state, after); !nodes.ok()) return nodes;
  if (!before && state.tables().reservations.size() >= kReservationsMax) {
    return Status(StatusCode::kResourceExhausted,
                  "there are " + std::to_string(kReservationsMax) + " reservations already")
        .WithReason("TOO_MANY_RESERVATIONS")
        .WithField("name")
        .WithFix("glim admin reserve rm NAME takes one back; those that are over go by themselves");
  }
  return CheckOthers(state, after);
}

}  // namespace glim::core
