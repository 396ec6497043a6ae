// Sums over a pool that refuse most of a long queue at once: an upper bound of what an asker could get.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/planning/field.h"

namespace glim::core {

class Supplies {
 public:
  explicit Supplies(TimePoint now) : now_(now) {}

  // Of the pool's nodes it could get no more than this now (`later`: or when protections have ended). `view` is the
  // one of the asker's pool; the sums are made anew when much of it was given away since.
  std::uint32_t AtMost(const PoolView& view, const Asker& asker, bool later);

 private:
  // Nodes by class, and inside a class by urgency, least urgent first: sums answer AtMost.
  struct Supply {
    std::uint64_t starts = 0;  // of the view that it was made from
    struct Level {
      std::uint32_t now = 0, later = 0;  // of attempts past their min_run; all steady ones
      std::uint32_t borrowed = 0;
      std::vector<std::pair<Urgency, std::pair<std::uint32_t, std::uint32_t>>>
          own;  // urgency -> sums so far (now, later)
    };
    std::uint32_t loose = 0;  // free, held back or not, and emptying
    std::map<PriorityClass, Level> levels;
    struct Claims {
      std::uint32_t all = 0, borrowed = 0;
    };
    std::map<PriorityClass, Claims> claimed;
  };

  const Supply& SupplyOf(const std::string& pool, const PoolView& view);

  const TimePoint now_;
  std::map<std::string, Supply> supplies_;
};

}  // namespace glim::core
