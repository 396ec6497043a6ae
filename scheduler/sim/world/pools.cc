#include "scheduler/sim/world/pools.h"

#include <algorithm>

#include "scheduler/sim/world/aspect.h"

namespace glim::sim {

using core::PriorityClass;
using core::QuotaGroup;
using core::QuotaOf;
using core::QuotaRow;

Pools::Pools(std::uint64_t seed, std::uint32_t nodes) : rng_(RngOf(seed, Aspect::kPools)), names_{"default"} {
  const std::int64_t kind = rng_.Between(0, 3);
  if (kind >= 2) names_.emplace_back("second");
  if (kind == 3) names_.emplace_back("third");
  sizes_.resize(names_.size());
  for (std::uint32_t number = 1; number <= nodes; ++number) {
    const auto home = std::find(names_.begin(), names_.end(), HomeOf(number));
    ++sizes_[static_cast<std::size_t>(home - names_.begin())];
  }
}

// So that each pool has nodes in each zone.
const std::string& Pools::HomeOf(std::uint32_t number) const {
  if (names_.size() == 2) return names_[number % 3 == 0 ? 1 : 0];
  if (names_.size() == 3) return names_[number % 4 == 0 ? 1 : number % 4 == 1 ? 2 : 0];
  return names_[0];
}

std::string Pools::Elsewhere(const std::string& home) {
  const std::string& pool = names_[static_cast<std::size_t>(rng_.Between(0, static_cast<std::int64_t>(size()) - 1))];
  return pool == home ? "other" : pool;
}

void Pools::Place(core::JobSpec& spec) {
  if (size() == 1) return;
  const auto last = static_cast<std::int64_t>(size()) - 1;
  const auto chosen = static_cast<std::size_t>(rng_.OneIn(2) ? rng_.Between(1, last) : 0);
  spec.pool = names_[chosen];
  spec.nodes = std::min(spec.nodes, sizes_[chosen]);
}

// The highest class is always named: what is refused at the submission would not be tried any further.
std::vector<core::AccountChange> Pools::Quotas() {
  std::vector<core::AccountChange> quotas;
  const auto add = [&](QuotaGroup group, PriorityClass priority, std::int64_t most) {
    quotas.push_back({QuotaRow{std::move(group), priority, static_cast<std::uint32_t>(rng_.Between(1, most))}});
  };
  if (rng_.OneIn(3)) add({QuotaOf::kEverybody, "", core::kAllPools}, PriorityClass::kExtremeHigh, 10);
  if (rng_.OneIn(3)) add({QuotaOf::kUser, "u1", core::kAllPools}, PriorityClass::kExtremeHigh, 6);
  for (std::size_t i = 1; i < size(); ++i) {
    if (rng_.OneIn(2)) {
      add({QuotaOf::kEverybody, "", names_[i]}, PriorityClass::kExtremeHigh, 2);
      add({QuotaOf::kEverybody, "", names_[i]}, PriorityClass::kNormal, 4);
    }
    if (rng_.OneIn(3)) add({QuotaOf::kUser, "u2", names_[i]}, PriorityClass::kExtremeHigh, 3);
    if (rng_.OneIn(3)) add({QuotaOf::kDefaultUser, "", names_[i]}, PriorityClass::kExtremeHigh, 3);
  }
  return quotas;
}

}  // namespace glim::sim
