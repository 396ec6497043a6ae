// Small builders of the values that the core's tests are made of.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/rows.h"

namespace glim::core::testing {

// A valid job of whole nodes, eight GPUs each.
JobSpec Spec(std::uint32_t nodes = 1, PriorityClass priority = PriorityClass::kNormal);

template <typename F>
JobSpec SpecWith(std::uint32_t nodes, F change) {
  JobSpec spec = Spec(nodes);
  change(spec);
  return spec;
}

NodeLabels Labels(std::string zone, std::string leaf, std::uint32_t gpus = 8);

// For tests that are not about agents which fall silent.
Policy Patient();

// Rows put straight into a state, without events.
Job JobRow(std::uint64_t id, JobSpec spec = Spec(), std::string user = "ann");
Node NodeRow(std::uint32_t id, NodeLabels labels = Labels("z1", "l1"));
Attempt AttemptRow(AttemptId id, AttemptState state, std::vector<NodeId> nodes);

}  // namespace glim::core::testing
