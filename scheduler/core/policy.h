// Policy: the numbers that the planner and the state machines decide by. Data, handed in; never read from anywhere by
// the core. Durations in milliseconds of the injected clock.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "scheduler/core/spec.h"
#include "sdk/base/time.h"

namespace glim::core {

inline constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

// Concurrent nodes by class. A class that is not named is unlimited.
struct Quota {
  std::map<PriorityClass, std::uint32_t> nodes;
  std::uint32_t For(PriorityClass c) const {
    const auto it = nodes.find(c);
    return it == nodes.end() ? kUnlimited : it->second;
  }
};

// The links between two zones as data (Fire-Flyer section III: two zones joined by few links).
struct ZoneLink {
  std::string zone_a;
  std::string zone_b;
  std::uint32_t jobs_max = 1;   // allocations that span both at a time
  std::uint32_t pairs_max = 1;  // node pairs that talk across, in all
};

struct Policy {
  // Quota of a user who has no row of their own.
  Quota default_user_quota;
  std::map<std::string, Quota> user_quota;
  std::vector<ZoneLink> links;               // empty: one link, one pair, between any two zones
  std::uint32_t crossing_nodes_min = 16;     // smaller jobs cross only if no zone is large enough for them

  // Interrupts.
  Duration agree_max = Seconds(10);          // and at most a quarter of the grace
  std::int64_t min_run_factor = 10;          // min_run = factor x (save + restore)
  Duration default_save_cost = Milliseconds(500);     // until something has been measured
  Duration default_restore_cost = Milliseconds(500);
  Duration median_checkpoint_interval = Minutes(5);   // the cap of age, for ordering victims only
  Duration kill_after_term = Seconds(5);
  Duration release_max = Seconds(60);        // after the kill; then the node is quarantined
  Duration start_max = Minutes(5);           // for every task to be seen running
  std::uint32_t start_failures_max = 3;
  Duration start_backoff = Seconds(1);

  // Nodes.
  Duration node_lost_after = Seconds(60);
  Duration oversleep_max = Seconds(5);       // a wake that is later than this was not slept through by choice
  std::uint32_t outage_percent = 20;         // more than this share silent at once: an outage, nobody is lost

  // Bounds.
  std::uint32_t unfinished_jobs_max = 200'000;
  std::uint32_t unfinished_jobs_per_user_max = 50'000;
  std::uint32_t finished_jobs_kept = 20'000;
  Duration reserve_after = Minutes(10);      // a job that waited this long holds back what it waits for
  std::uint16_t master_port_first = 20'000;
  std::uint16_t master_port_last = 29'999;
};

}  // namespace glim::core
