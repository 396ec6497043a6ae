// What a planning verdict reads of a queued job, and its place among those that ask for the same. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/core/model/rows.h"
#include "scheduler/core/model/service_history.h"

namespace glim::core {

// Of a 1-node job whose newest save is dear to copy: the node that has it, and the save's size as a power of two (an
// upper bound). None for all others: a gang needs copies wherever it goes.
struct DearSave {
  NodeId node;
  std::uint8_t bytes_log2 = 0;
  friend auto operator<=>(const DearSave&, const DearSave&) = default;
};

// Every input that a planning verdict reads: jobs of one shape share one verdict, so that a pass costs what the shapes
// cost and not what the queue is long.
struct Shape {
  std::string pool;
  PriorityClass priority = PriorityClass::kNormal;
  std::string user;
  std::string team;
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 0;
  Placement placement;
  Duration time_limit;
  std::uint8_t service_bucket = 0;  // of what its ended attempts had
  DearSave save;
  std::vector<NodeId> left_out;  // while other nodes fit: where storage hung, what an operator moved it off
  friend auto operator<=>(const Shape&, const Shape&) = default;
};

// The order inside a shape: swap-aborted jobs first, then first submission; ties break by id.
struct QueueKey {
  bool not_swap_aborted = true;
  TimePoint submitted_at;
  JobId id;
  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
};

// A save of less is never worth a wait.
inline constexpr std::int64_t kDearSaveBytes = std::int64_t{1} << 30;
DearSave DearSaveOf(const Job& job);
Shape ShapeOf(const Job& job);
// Nodes that the job gets only where others do not do, ascending.
std::vector<NodeId> LeftOutOf(const Job& job);
QueueKey QueueKeyOf(const Job& job);
Kind KindOf(const Shape& shape);
Kind KindOf(const Job& job);
// What a job has had of its nodes until `now`, its live attempt included.
Duration ServiceOf(const Job& job, const Attempt* live, TimePoint now);

}  // namespace glim::core
