#include "scheduler/core/model/progress.h"

#include <utility>

namespace glim::core {

bool DiffersInProgressAlone(const Task& old, Task& row) {
  if (old.ranks.size() != row.ranks.size()) return false;
  std::vector<std::pair<std::int64_t, Duration>> steps;
  steps.reserve(row.ranks.size());
  for (std::size_t i = 0; i < row.ranks.size(); ++i) {
    Rank& rank = row.ranks[i];
    steps.emplace_back(std::exchange(rank.step, old.ranks[i].step),
                       std::exchange(rank.step_time, old.ranks[i].step_time));
  }
  const bool same = old == row;
  for (std::size_t i = 0; i < row.ranks.size(); ++i) {
    row.ranks[i].step = steps[i].first;
    row.ranks[i].step_time = steps[i].second;
  }
  return same;
}

bool DiffersInProgressAlone(const Attempt& old, Attempt& row) {
  // The first step ends a restore: the ledger books by it.
  if ((old.last_step < 0) != (row.last_step < 0)) return false;
  const std::int64_t step = std::exchange(row.last_step, old.last_step);
  const bool same = old == row;
  row.last_step = step;
  return same;
}

}  // namespace glim::core
