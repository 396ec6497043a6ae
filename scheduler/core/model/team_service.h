// What each team has had lately: the GPU-time of its ended attempts, forgotten by half every day.
//
// Kept by the hour, so that rows alone tell it and an attempt can be taken out again. Integers alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "sdk/base/time.h"

namespace glim::core {

inline constexpr Duration kShareHalfLife = Hours(24);

class TeamService {
 public:
  // An attempt with that many GPUs, from `begin` to `end`. add false: takes it out again.
  void Count(const std::string& team, std::int64_t gpus, TimePoint begin, TimePoint end, bool add);

  // GPU-milliseconds, those of t days ago weighing 2^-t.
  std::int64_t Decayed(const std::string& team, TimePoint now) const;

  friend bool operator==(const TeamService&, const TeamService&) = default;

 private:
  std::map<std::string, std::map<std::int64_t, std::int64_t>> by_hour_;  // team -> hour since the epoch -> GPU-ms
};

// The key of a user's own part of a team's service: a team's name has no slash.
inline std::string UserInTeam(const std::string& team, const std::string& user) { return team + "/" + user; }

// The same for an attempt that still runs.
std::int64_t DecayedSpan(std::int64_t gpus, TimePoint begin, TimePoint end, TimePoint now);

}  // namespace glim::core
