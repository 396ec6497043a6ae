// What is kept of a job that has ended, beyond the life of its rows: who, what, how it went and what it cost. Plain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/core/model/rows.h"

namespace glim::store {

struct EndedJob {
  core::JobId id;
  std::string name;
  std::string user;
  std::string team;
  std::string pool;
  core::PriorityClass priority = core::PriorityClass::kNormal;  // the class that was in force
  core::JobState state = core::JobState::kSucceeded;            // a terminal one
  std::string message;
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 0;
  bool simulated_gpus = false;  // some of what it had was simulated
  TimePoint submitted_at;
  TimePoint started_at;  // all nodes of its first attempt held; 0: it never started
  TimePoint ended_at;
  std::uint32_t attempts = 0;
  std::uint32_t interrupts = 0;
  std::uint32_t restarts = 0;
  std::int64_t steps_lost = 0;
  std::int64_t durable_step = -1;
  Duration waited;           // queued, until all nodes were held: over all attempts
  core::UseTotals ledger{};  // GPU-milliseconds
  // How its newest attempt ended; none: it had none, or it ended before this was kept.
  core::Outcome outcome = core::Outcome::kNone;
  std::int32_t exit_code = 0;
  friend bool operator==(const EndedJob&, const EndedJob&) = default;
};

// Newest first: what ended before (`before_at`, `before_id`), in the order of (ended_at, id), and not before `since`.
struct EndedJobsQuery {
  std::string user{};   // empty: all
  std::string state{};  // its stored name ("failed"); empty: all
  TimePoint since{};
  TimePoint before_at{INT64_MAX};
  core::JobId before_id{INT64_MAX};
  std::size_t limit = 0;
  std::string pool{};  // empty: all; likewise below
  std::string team{};
  std::string priority{};  // the stored name of the class that was in force
  std::string name{};      // a part of the job's name
};

// What reports sum of an ended job: read without its row's body. The texts are valid during the call that gives them.
struct EndedFigures {
  core::JobId id;
  TimePoint submitted_at, started_at, ended_at;  // as of EndedJob
  std::uint32_t interrupts = 0, restarts = 0;
  std::int64_t steps_lost = 0;
  bool simulated_gpus = false;
  std::int32_t exit_code = 0;
  core::UseTotals ledger{};
  std::string_view team, pool, priority, state, outcome, user, name;  // the words as they are stored
};

// Of what ended in [since, until), the oldest first.
struct EndedFiguresQuery {
  TimePoint since{};
  TimePoint until{INT64_MAX};
};

}  // namespace glim::store
