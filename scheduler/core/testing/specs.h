// Small builders of the values that the core's tests are made of.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/rows.h"

namespace glim::core::testing {

// A valid job of whole nodes, eight GPUs each.
inline JobSpec Spec(std::uint32_t nodes = 1, PriorityClass priority = PriorityClass::kNormal) {
  JobSpec spec;
  spec.name = "train";
  spec.priority = priority;
  spec.nodes = nodes;
  spec.workdir = "/work";
  spec.run = "python train.py";
  return spec;
}

template <typename F>
JobSpec SpecWith(std::uint32_t nodes, F change) {
  JobSpec spec = Spec(nodes);
  change(spec);
  return spec;
}

inline NodeLabels Labels(std::string zone, std::string leaf, std::uint32_t gpus = 8) {
  NodeLabels labels;
  labels.zone = std::move(zone);
  labels.leaf = std::move(leaf);
  labels.gpu_type = "a100";
  labels.gpu_count = gpus;
  labels.nvlink = NvLink::kPair;
  labels.nic = "infiniband";
  return labels;
}

// Rows put straight into a state, without events.
inline Job JobRow(std::uint64_t id, JobSpec spec = Spec(), std::string user = "ann") {
  Job job;
  job.id = JobId(id);
  job.user = std::move(user);
  job.priority = spec.priority;
  job.spec = std::make_shared<const JobSpec>(std::move(spec));
  job.submitted_at = job.queued_at = TimePoint{static_cast<std::int64_t>(1000 + id)};
  return job;
}

inline Node NodeRow(std::uint32_t id, NodeLabels labels = Labels("z1", "l1")) {
  Node node;
  node.id = NodeId(id);
  node.name = "n" + std::to_string(id);
  node.machine_id = "m-" + node.name;
  node.labels = std::move(labels);
  return node;
}

inline Attempt AttemptRow(AttemptId id, AttemptState state, std::vector<NodeId> nodes) {
  Attempt attempt;
  attempt.id = id;
  attempt.state = state;
  attempt.zones = {"z1"};
  attempt.nodes_held = static_cast<std::uint32_t>(nodes.size());
  attempt.nodes = std::move(nodes);
  return attempt;
}

}  // namespace glim::core::testing
