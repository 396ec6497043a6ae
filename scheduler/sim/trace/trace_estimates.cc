#include "scheduler/sim/trace/trace_estimates.h"

#include <utility>

namespace glim::sim {

bool EstimateSampler::Begins(std::size_t row) {
  open_.erase(row);
  const std::uint64_t wait = waits_++;
  if (wait % every_ != 0) return false;
  if (kept_.size() == kEstimatesKept) Thin();
  if (wait % every_ != 0) return false;
  open_[row] = wait;
  return true;
}

void EstimateSampler::Asked(std::size_t row, core::Estimate estimate) {
  kept_[open_.at(row)].estimate = std::move(estimate);
}

void EstimateSampler::Thin() {
  every_ *= 2;
  std::erase_if(kept_, [this](const auto& kept) { return kept.first % every_ != 0; });
}

void EstimateSampler::Started(std::size_t row, TimePoint at) {
  const auto open = open_.find(row);
  if (open == open_.end()) return;
  if (const auto kept = kept_.find(open->second); kept != kept_.end()) kept->second.started = at;
  open_.erase(open);
}

std::vector<AskedEstimate> EstimateSampler::Take() {
  std::vector<AskedEstimate> all;
  for (auto& [wait, asked] : std::exchange(kept_, {})) all.push_back(std::move(asked));
  return all;
}

}  // namespace glim::sim
