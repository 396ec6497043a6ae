// A plan in the words of a golden decision file: what starts, in the order in which that was decided and at whose cost;
// then who waits, behind how many and why; then when the planner looks again.
#pragma once

#include <string>

#include "scheduler/core/testing/golden_input.h"

namespace glim::core::testing {

std::string GoldenPlan(const GoldenInput& input);

}  // namespace glim::core::testing
