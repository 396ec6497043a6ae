// Rows that outlive the jobs that they were learnt from: what users have had lately, and how long jobs take. Plain.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sdk/base/time.h"

namespace glim::core {

// Service is told in buckets that grow by a quarter: [0, 30 s), [30 s, 37 s), ... up to some 500 days.
inline constexpr std::size_t kServiceBuckets = 64;

struct ShareId {
  std::string team;
  std::string user;
  friend auto operator<=>(const ShareId&, const ShareId&) = default;
};

// The GPU-time of a user's ended attempts in a team, forgotten by half every day (team_service.h).
struct Share {
  ShareId id;
  std::int64_t gpu_ms = 0;  // decayed up to `hour`
  std::int64_t hour = 0;    // since 1970
  friend bool operator==(const Share&, const Share&) = default;
};

// A kind of jobs, more or less finely told; fields that the level does not tell apart are empty (service_history.h).
struct LifeTableId {
  std::uint8_t level = 0;
  std::string user;
  std::uint32_t nodes = 0;
  std::int64_t limit_minutes = 0;
  friend auto operator<=>(const LifeTableId&, const LifeTableId&) = default;
};

// How many jobs of a kind ended, by the bucket of the service that they had had.
struct LifeTable {
  LifeTableId id;
  std::vector<std::uint32_t> ended;  // by bucket; those that are left out at the end are 0
  TimePoint updated_at;
  friend bool operator==(const LifeTable&, const LifeTable&) = default;
};

}  // namespace glim::core
