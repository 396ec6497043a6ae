// Layout: pools, zones and the links between zones, as rows that operators change while the scheduler runs
// (docs/operations/layout.md). They are among the accounts (accounts.h), and changed by the same event.
//
// Values. A pool or a zone needs no row: it is there when a node is in it. A row makes it known before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace glim::core {

inline constexpr std::size_t kLayoutNoteMax = 256;
inline constexpr std::uint32_t kLinkAmountMax = 1000;

struct PoolRow {
  std::string name;
  std::string note{};  // for people
  friend bool operator==(const PoolRow&, const PoolRow&) = default;
};

struct ZoneRow {
  std::string name;
  std::string note{};  // for people
  friend bool operator==(const ZoneRow&, const ZoneRow&) = default;
};

// The links between two zones as data (Fire-Flyer section III: two zones joined by few links).
struct ZoneLink {
  std::string zone_a;
  std::string zone_b;
  std::uint32_t jobs_max = 1;   // allocations that span both at a time
  std::uint32_t pairs_max = 1;  // node pairs that talk across, in all
  friend bool operator==(const ZoneLink&, const ZoneLink&) = default;
};

// The policy file's `pools:`, `zones:` and `links:` that became rows, as text: the same text is known again.
struct LayoutImport {
  std::string text;
  friend bool operator==(const LayoutImport&, const LayoutImport&) = default;
};

using Link = std::pair<std::string, std::string>;  // by name
inline Link LinkOf(const std::string& zone_a, const std::string& zone_b) {
  return zone_a < zone_b ? Link(zone_a, zone_b) : Link(zone_b, zone_a);
}
inline Link LinkOf(const ZoneLink& link) { return LinkOf(link.zone_a, link.zone_b); }

using Links = std::map<Link, ZoneLink>;  // none: one job, one pair between any two zones

// Jobs that may span this pair of zones at a time; 0: never.
std::uint32_t LinkJobsMax(const Links& links, const std::string& zone_a, const std::string& zone_b);

}  // namespace glim::core
