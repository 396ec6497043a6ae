#include "scheduler/core/model/state_counts.h"

namespace glim::core {
namespace {

template <typename Counts, typename Key>
void CountOne(Counts& counts, const Key& key, bool add) {
  std::uint64_t& count = counts[key];
  count += add ? 1 : ~std::uint64_t{0};
  if (count == 0) counts.erase(key);
}

template <typename Counts, typename State>
std::uint64_t SumIn(const Counts& counts, State state) {
  std::uint64_t sum = 0;
  for (const auto& [key, count] : counts) sum += key.second == state ? count : 0;
  return sum;
}

}  // namespace

void StateCounts::Count(const Job& row, bool add) { CountOne(jobs, std::pair(row.spec->pool, row.state), add); }

void StateCounts::Count(const Node& row, bool add) {
  CountOne(nodes, std::pair(row.labels.zone, row.state), add);
  const std::uint64_t sign = add ? 1 : ~std::uint64_t{0};
  if (row.labels.simulated_gpus) nodes_simulated += sign;
  for (std::size_t use = 0; use < kUses; ++use) booked[use] += sign * static_cast<std::uint64_t>(row.ledger[use]);
  const auto use = static_cast<std::size_t>(row.use);
  gpus[use] += sign * row.labels.gpu_count;
  gpus_since[use] += sign * row.labels.gpu_count * static_cast<std::uint64_t>(row.use_since.ms);
}

std::uint64_t StateCounts::JobsIn(JobState state) const { return SumIn(jobs, state); }

std::uint64_t StateCounts::NodesIn(NodeState state) const { return SumIn(nodes, state); }

UseTotals StateCounts::UsesUntil(TimePoint now) const {
  UseTotals uses{};
  for (std::size_t use = 0; use < kUses; ++use) {
    uses[use] =
        static_cast<std::int64_t>(booked[use] + gpus[use] * static_cast<std::uint64_t>(now.ms) - gpus_since[use]);
  }
  return uses;
}

}  // namespace glim::core
