// Where a job stands in the list that people see, so that a page of it costs what the page has, not what the queue is
// long: ClusterState keeps the jobs in this order beside the order of their ids. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "scheduler/core/model/rows.h"

namespace glim::core {

// What runs or is on its way first, then queued jobs in the order in which they are planned, then held ones, then ended
// ones, newest first.
struct JobPlace {
  std::int64_t group = 0;  // live, queued, held, ended
  std::int64_t less_urgent = 0;
  std::int64_t not_swap_aborted = 0;
  std::int64_t time = 0;
  std::int64_t id = 0;
  friend auto operator<=>(const JobPlace&, const JobPlace&) = default;
};

// The same of one user's jobs.
struct UserPlace {
  std::string user;
  JobPlace place;
  friend auto operator<=>(const UserPlace&, const UserPlace&) = default;
};

inline constexpr std::int64_t kEndedGroup = 3;

inline JobPlace PlaceOf(const Job& job) {
  const auto id = static_cast<std::int64_t>(job.id.value);
  if (IsTerminal(job.state)) return {kEndedGroup, 0, 0, -job.ended_at.ms, id};
  const std::int64_t less_urgent = -static_cast<std::int64_t>(job.priority);
  const std::int64_t group = job.state == JobState::kQueued ? 1 : job.state == JobState::kHeld ? 2 : 0;
  return {group, less_urgent, group == 1 && job.swap_aborted ? 0 : 1, job.submitted_at.ms, id};
}

}  // namespace glim::core
