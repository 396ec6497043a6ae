#include "scheduler/core/model/queue_shape.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace glim::core {

DearSave DearSaveOf(const Job& job) {
  const Checkpoint& save = job.durable;
  const bool dear =
      job.spec->nodes == 1 && save.parts.size() == 1 && save.copies.empty() && save.bytes >= kDearSaveBytes;
  if (!dear) return {};
  return {save.parts.front(), static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(save.bytes)))};
}

std::vector<NodeId> LeftOutOf(const Job& job) {
  std::vector<NodeId> nodes;
  std::set_union(job.hung_on.begin(), job.hung_on.end(), job.moved_off.begin(), job.moved_off.end(),
                 std::back_inserter(nodes));
  return nodes;
}

Shape ShapeOf(const Job& job) {
  const JobSpec& spec = *job.spec;
  return {spec.pool,
          spec.priority,
          job.user,
          job.team,
          spec.nodes,
          spec.gpus_per_node,
          spec.placement,
          LimitClass(spec.time_limit),
          ServiceBucket(job.service),
          DearSaveOf(job),
          LeftOutOf(job)};
}

Kind KindOf(const Shape& shape) { return {shape.user, shape.nodes, shape.time_limit}; }
Kind KindOf(const Job& job) { return {job.user, job.spec->nodes, LimitClass(job.spec->time_limit)}; }

Duration ServiceOf(const Job& job, const Attempt* live, TimePoint now) {
  return live && live->started_at ? job.service + (now - live->started_at) : job.service;
}

QueueKey QueueKeyOf(const Job& job) { return {!job.swap_aborted, job.submitted_at, job.id}; }

}  // namespace glim::core
