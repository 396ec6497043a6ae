// Nodes that are measured by themselves, in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core::testing {

// Patient, but for this.
Policy Validating(const ValidatePolicy& validate);

const NodeValidation& ValidationOf(const Cluster& c, NodeId node);

// None: nobody measures it.
JobId MeasuringOf(const Cluster& c, NodeId node);

// Its agent starts the job that measures it, and the program ends so, with this as its last line; a partner's ends
// well.
void Measured(Cluster& c, NodeId node, std::int32_t code, const std::string& last_line = "");

// How many nodes are measured now.
std::size_t MeasuredNow(Cluster& c);

}  // namespace glim::core::testing
