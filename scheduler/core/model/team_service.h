// What each user of each team has had lately: the GPU-time of ended attempts, forgotten by half every day.
//
// A sum for each user of each team, decayed to the hour of the last attempt that it counts: the row Share. Integers
// alone. Owned by the ClusterState's index; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "scheduler/core/model/learnt_rows.h"
#include "sdk/base/time.h"

namespace glim::core {

inline constexpr Duration kShareHalfLife = Hours(24);

class TeamService {
 public:
  // The row that tells of one more attempt, with that many GPUs, from `begin` to `end`: to be put.
  Share With(const ShareId& id, std::int64_t gpus, TimePoint begin, TimePoint end) const;
  // A row to be erased first, where there are too many to add this one: the one that counts least by now.
  std::optional<ShareId> Surplus(const ShareId& id) const;

  // As the rows are put and erased.
  void Put(const Share& row);
  void Erase(const ShareId& id);

  // GPU-milliseconds, those of t days ago weighing 2^-t: of the whole team, and of one of its users.
  std::int64_t Decayed(const std::string& team, TimePoint now) const;
  std::int64_t Decayed(const ShareId& id, TimePoint now) const;

  friend bool operator==(const TeamService&, const TeamService&) = default;

 private:
  struct Sum {
    std::int64_t gpu_ms = 0;
    std::int64_t hour = 0;
    friend bool operator==(const Sum&, const Sum&) = default;
  };

  static std::int64_t At(const Sum& sum, TimePoint now);

  std::map<ShareId, Sum> sums_;
};

// The same for an attempt that still runs.
std::int64_t DecayedSpan(std::int64_t gpus, TimePoint begin, TimePoint end, TimePoint now);

}  // namespace glim::core
