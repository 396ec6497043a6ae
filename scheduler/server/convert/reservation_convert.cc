#include "scheduler/server/convert/reservation_convert.h"

#include <algorithm>
#include <tuple>

namespace glim::server {

void ReservationToProto(const Snapshot& snapshot, const core::Reservation& row, v1::Reservation* out) {
  out->set_name(row.name);
  out->set_team(row.team);
  out->set_pool(row.pool);
  out->set_share(row.share);
  for (const std::string& name : row.node_names) out->add_node_names(name);
  out->set_begins_at_ms(row.begins_at.ms);
  out->set_ends_at_ms(row.ends_at.ms);
  out->set_reason(row.reason);
  out->set_made_by(row.made_by);
  out->set_made_at_ms(row.made_at.ms);
  out->set_state(row.begun_at ? "in_force" : "planned");
  for (const core::ReservedNode& reserved : row.nodes) {
    const core::Node* const node = snapshot.tables.nodes.Find(reserved.id);
    if (node != nullptr) out->add_nodes(node->name);
  }
  std::sort(out->mutable_nodes()->begin(), out->mutable_nodes()->end());
}

core::Reservation ReservationOf(const v1::Reservation& message) {
  core::Reservation row;
  row.name = message.name();
  row.team = message.team();
  row.pool = message.pool();
  row.share = message.share();
  row.node_names.assign(message.node_names().begin(), message.node_names().end());
  row.begins_at = TimePoint{message.begins_at_ms()};
  row.ends_at = TimePoint{message.ends_at_ms()};
  row.reason = message.reason();
  return row;
}

std::vector<std::string> ReservedWords(const Snapshot& snapshot, core::NodeId node) {
  std::vector<const core::Reservation*> rows;
  snapshot.tables.reservations.ForEach([&](const std::string&, const core::Reservation& row) {
    if (core::HasNode(row, node)) rows.push_back(&row);
  });
  std::sort(rows.begin(), rows.end(), [](const core::Reservation* a, const core::Reservation* b) {
    return std::tie(a->begins_at, a->name) < std::tie(b->begins_at, b->name);
  });
  std::vector<std::string> words;
  words.reserve(rows.size());
  for (const core::Reservation* const row : rows) words.push_back(row->name + ": " + core::ReservedInWords(*row));
  return words;
}

}  // namespace glim::server
