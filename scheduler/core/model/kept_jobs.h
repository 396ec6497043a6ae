// KeptJobs: which jobs' rows there are, and what they take in bytes (spec_bytes.h), by user: what the bounds of users
// and of all go by (lifecycle/job_submit.h, lifecycle/job_machine.h). Counted row by row as rows are written. Plain.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "scheduler/core/model/rows.h"

namespace glim::core {

// What is counted of a job. It points into its row.
struct KeptJob {
  explicit KeptJob(const Job& row);

  JobId id;
  std::string_view user;
  bool is_over = false;
  bool measures = false;
  TimePoint ended_at;
  const JobSpec* spec = nullptr;  // a changed one is another object
  std::int64_t tale_bytes = 0;
  friend bool operator==(const KeptJob&, const KeptJob&) = default;
};

struct JobSums {
  std::uint32_t jobs = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const JobSums&, const JobSums&) = default;
};

struct EndedRows {
  std::set<std::pair<TimePoint, JobId>> by_end;  // oldest first
  std::int64_t bytes = 0;
  friend bool operator==(const EndedRows&, const EndedRows&) = default;
};

struct KeptJobs {
  JobSums unfinished;                                 // of everybody
  std::map<std::string, JobSums> unfinished_by_user;  // who has none is not there; so below
  EndedRows ended;                                    // of all users
  EndedRows measured;  // the cluster's own that measure nodes (validation.h): not ended's
  std::map<std::string, EndedRows> ended_by_user;
  friend bool operator==(const KeptJobs&, const KeptJobs&) = default;

  void Count(const KeptJob& job, bool add);

  JobSums UnfinishedOf(const std::string& user) const;
};

}  // namespace glim::core
