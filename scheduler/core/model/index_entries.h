// What the index of the cluster's state has of a row. It is changed by entries alone, never by rows: so a field that
// the index reads is compared where a write asks whether the index changes at all. Most writes of a row do not change
// it.
//
// An entry has views of its row's texts: it is used while the row lives. Plain.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "scheduler/core/model/ids.h"
#include "scheduler/core/model/kept_jobs.h"
#include "scheduler/core/model/queue_shape.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/core/model/usable_node.h"

namespace glim::core {

struct QueuedEntry {  // of a job that may be planned now
  Shape shape;
  QueueKey key;
  TimePoint queued_at;
  friend bool operator==(const QueuedEntry&, const QueuedEntry&) = default;
};

struct JobEntry {
  explicit JobEntry(const Job& row);

  JobId id;
  KeptJob kept;
  std::string_view request_id;
  std::optional<QueuedEntry> queued;
  TimePoint delayed_until;  // queued, in backoff; 0: not
  // The rest is of jobs that are not over.
  bool save_watched = false;
  bool doubled = false;
  std::set<NodeId> saved_on;      // who has one of its saves: it is looked at when such a node's state changes
  std::vector<JobId> depends_on;  // what it waits for
  friend bool operator==(const JobEntry&, const JobEntry&) = default;
};

// What the means of a job's pool are made of.
struct SavesEntry {
  explicit SavesEntry(const Job& row);

  std::string_view pool;
  std::uint32_t asked = 0, done = 0, leaves = 0;
  Duration save_cost, leave_time;
  friend bool operator==(const SavesEntry&, const SavesEntry&) = default;
};

struct AttemptEntry {
  AttemptEntry(const Attempt& row, const Job& job);

  AttemptId id;
  std::vector<NodeId> replicas;
  bool live = false;
  // The rest is of live ones.
  std::string_view pool;
  TimePoint limit_at;  // 0: it has no limit, or is to leave at it
  bool needs_attention = false;
  friend bool operator==(const AttemptEntry&, const AttemptEntry&) = default;
};

struct NodeEntry {
  explicit NodeEntry(const Node& row);

  NodeId id;
  std::string_view name, pool, zone, leaf, root_marker;
  AttemptId claim;
  bool free = false;
  bool takes_replicas = false;
  bool draining = false;
  bool lemon = false;
  TimePoint cordoned_until;   // 0: it does not end by itself
  std::set<JobId> jobs_left;  // whose attempts run there and are unknown
  bool measuring = false;     // by a job
  TimePoint measure_again;    // not before then; 0: whenever it is due
  std::optional<MeasureKey> to_measure;
  std::optional<TimePoint> found_good;
  friend bool operator==(const NodeEntry&, const NodeEntry&) = default;
};

}  // namespace glim::core
