#include "cli/views/reserve_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "cli/views/outlook_text.h"

namespace glim::cli {
namespace {

constexpr int kReservedNamed = 8;

std::string NamedNodes(const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::string text;
  const int said = std::min(names.size(), kReservedNamed);
  for (int i = 0; i < said; ++i) text += fmt::format("{}{}", i > 0 ? ", " : "", names[i]);
  return names.size() > said ? fmt::format("{} and {} more", text, names.size() - said) : text;
}

std::string WhatIsReserved(const glim::v1::Reservation& reservation) {
  if (reservation.share() == 0) {
    return fmt::format("{} {}", reservation.node_names_size() == 1 ? "node" : "nodes",
                       NamedNodes(reservation.node_names()));
  }
  return fmt::format("{} {} of pool {}", reservation.share(), reservation.share() == 1 ? "node" : "nodes",
                     reservation.pool());
}

std::string ForWhom(const glim::v1::Reservation& reservation) {
  return reservation.team().empty() ? "nobody" : "team " + reservation.team();
}

}  // namespace

std::string ReservationLine(const glim::v1::Reservation& reservation) {
  return fmt::format("{} for {} from {} until {}: {}", WhatIsReserved(reservation), ForWhom(reservation),
                     FormatRfc3339(TimePoint{reservation.begins_at_ms()}),
                     FormatRfc3339(TimePoint{reservation.ends_at_ms()}), reservation.reason());
}

std::string ReservationChangeText(const glim::v1::SetReservationResponse& answer, bool colour) {
  std::string text = fmt::format("reservation {}\n", Escaped(answer.after().name()));
  if (answer.has_before()) text += fmt::format("  - {}\n", Escaped(ReservationLine(answer.before())));
  text += fmt::format("  + {}\n", Escaped(ReservationLine(answer.after())));
  if (answer.jobs().empty()) return text + "no job of others is there now\n";
  glim::v1::PlannedStart shown;
  *shown.mutable_victims() = answer.jobs();
  text += answer.after().share() > 0
              ? "there now, on nodes that it would get now; asked to save and leave before it begins"
              : "there now; asked to save and leave before it begins";
  return text + ":\n" + VictimsTable(shown, colour, 2);
}

std::string ReservationRemovedText(const glim::v1::RemoveReservationResponse& answer) {
  return fmt::format("reservation {}\n  - {}\n", Escaped(answer.before().name()),
                     Escaped(ReservationLine(answer.before())));
}

std::string ReservationTable(const glim::v1::ListReservationsResponse& list, bool colour) {
  if (list.reservations().empty()) return "nothing is reserved\n";
  Table table({{"NAME"},
               {"STATE"},
               {"FOR"},
               {"WHAT"},
               {"FROM"},
               {"UNTIL"},
               {"NODES", false, 40},
               {"BY"},
               {"REASON", false, 40}});
  for (const glim::v1::Reservation& one : list.reservations()) {
    table.AddRow({one.name(), one.state() == "in_force" ? "in force" : one.state(), ForWhom(one), WhatIsReserved(one),
                  FormatRfc3339(TimePoint{one.begins_at_ms()}), FormatRfc3339(TimePoint{one.ends_at_ms()}),
                  one.nodes().empty() ? "-" : NamedNodes(one.nodes()), one.made_by().empty() ? "-" : one.made_by(),
                  one.reason()});
  }
  return table.Render(colour);
}

}  // namespace glim::cli
