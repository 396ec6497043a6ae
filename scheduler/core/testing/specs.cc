#include "scheduler/core/testing/specs.h"

#include <memory>
#include <utility>

namespace glim::core::testing {

JobSpec Spec(std::uint32_t nodes, PriorityClass priority) {
  JobSpec spec;
  spec.name = "train";
  spec.priority = priority;
  spec.nodes = nodes;
  spec.workdir = "/work";
  spec.run = "python train.py";
  spec.interrupt_mode = InterruptMode::kCooperative;  // as most training jobs are, from their first moment
  return spec;
}

NodeLabels Labels(std::string zone, std::string leaf, std::uint32_t gpus) {
  NodeLabels labels;
  labels.zone = std::move(zone);
  labels.leaf = std::move(leaf);
  labels.gpu_type = "a100";
  labels.gpu_count = gpus;
  labels.nvlink = NvLink::kPair;
  labels.nic = "infiniband";
  return labels;
}

Policy Patient() {
  Policy policy;
  policy.node_lost_after = Hours(10'000);
  return policy;
}

Job JobRow(std::uint64_t id, JobSpec spec, std::string user) {
  Job job;
  job.id = JobId(id);
  job.user = std::move(user);
  job.priority = spec.priority;
  job.spec = std::make_shared<const JobSpec>(std::move(spec));
  job.submitted_at = job.queued_at = TimePoint{static_cast<std::int64_t>(1000 + id)};
  return job;
}

Node NodeRow(std::uint32_t id, NodeLabels labels) {
  Node node;
  node.id = NodeId(id);
  node.name = "n" + std::to_string(id);
  node.machine_id = "m-" + node.name;
  node.labels = std::move(labels);
  return node;
}

Attempt AttemptRow(AttemptId id, AttemptState state, std::vector<NodeId> nodes) {
  Attempt attempt;
  attempt.id = id;
  attempt.state = state;
  attempt.zones = {"z1"};
  attempt.nodes_held = static_cast<std::uint32_t>(nodes.size());
  attempt.nodes = std::move(nodes);
  return attempt;
}

}  // namespace glim::core::testing
