// Budgets: how much GPU-time the jobs of a team may use (lifecycle/budgets.h). The row.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/time.h"

namespace glim::core {

struct BudgetId {
  std::string team;
  friend auto operator<=>(const BudgetId&, const BudgetId&) = default;
};

struct Budget {
  BudgetId id;
  std::int64_t gpu_ms_max = 0;  // its jobs start while they have used less
  // Of this team's jobs, since `since` and as far as the ledger has booked it. Below 0 by what was not booked then.
  std::int64_t booked_gpu_ms = 0;
  TimePoint since;
  std::string made_by;  // user; empty: of a scheduler that knows no users
  TimePoint made_at;
  friend bool operator==(const Budget&, const Budget&) = default;
};

inline constexpr std::size_t kBudgetsMax = 1000;
inline constexpr std::int64_t kBudgetGpuMsMax = 3'600'000'000'000'000;  // a thousand million GPU-hours

}  // namespace glim::core
