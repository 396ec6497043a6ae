// What is kept of a job that has ended, beyond the life of its rows: who, what, how it went and what it cost. Plain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

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
};

}  // namespace glim::store
