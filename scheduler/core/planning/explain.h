// Why a job waits: blockers with amounts, from what the pass saw.
#pragma once

#include <vector>

#include "scheduler/core/planning/pass.h"

namespace glim::core {

// Never empty.
// Of a job that is beyond a quota: which one, what is left of it, and what follows.
Blocker QuotaBlocker(const Pass& pass, const Job& job);

std::vector<Blocker> Explain(const Pass& pass, const Asker& asker, const FieldSums& field);

}  // namespace glim::core
