// Why a job waits: blockers with amounts, from what the pass saw.
#pragma once

#include <vector>

#include "scheduler/core/planning/pass.h"

namespace glim::core {

// Never empty.
std::vector<Blocker> Explain(const Pass& pass, const Asker& asker, const Field& field);

}  // namespace glim::core
