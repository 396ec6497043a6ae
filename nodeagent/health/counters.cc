#include "nodeagent/health/counters.h"

#include <utility>

namespace glim::nodeagent::health {

std::int64_t Rise(Memory& memory, const std::string& key, std::int64_t value) {
  const auto [it, first] = memory.try_emplace(key, value);
  const std::int64_t before = std::exchange(it->second, value);
  return !first && value > before ? value - before : 0;
}

std::int64_t PacedRise(Memory& memory, const std::string& key, std::int64_t value, std::int64_t now_ms,
                       std::int64_t pause_ms) {
  const auto [base, first] = memory.try_emplace(key, value);
  if (first || value < base->second) base->second = value;
  const std::int64_t rise = value - base->second;
  if (rise == 0) return 0;
  const auto [told, never] = memory.try_emplace(key + " told", now_ms);
  if (!never && now_ms - told->second < pause_ms) return 0;
  told->second = now_ms;
  base->second = value;
  return rise;
}

std::int64_t TooFast(Memory& memory, const std::string& key, std::int64_t value, std::int64_t now_ms,
                     const AllowedRise& allowed) {
  const auto [base, first] = memory.try_emplace(key, value);
  std::int64_t& since = memory.try_emplace(key + " since", now_ms).first->second;
  std::int64_t& told = memory.try_emplace(key + " told", 0).first->second;
  const std::int64_t rise = value - base->second;
  const bool exceeded = !first && rise > allowed.amount && told == 0;
  if (exceeded) told = 1;
  if (rise < 0 || now_ms - since >= allowed.window_ms) {
    base->second = value;
    since = now_ms;
    told = 0;
  }
  return exceeded ? rise : 0;
}

}  // namespace glim::nodeagent::health
