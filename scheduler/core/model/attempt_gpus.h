// What of the cluster an attempt keeps from others.
#pragma once

#include <cstdint>

#include "scheduler/core/model/cluster_state.h"

namespace glim::core {

// All GPUs of its nodes: a job has whole nodes, whatever it asks for. A node without GPUs counts as one with one, so
// that a cluster without any is shared, too; so does a node that is no more.
inline std::int64_t GpusKeptBy(const ClusterState& state, const Attempt& attempt) {
  std::int64_t gpus = 0;
  for (const NodeId id : attempt.nodes) {
    const Node* node = state.FindNode(id);
    gpus += node && node->labels.gpu_count > 0 ? node->labels.gpu_count : 1;
  }
  return gpus;
}

}  // namespace glim::core
