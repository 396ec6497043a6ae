#include "scheduler/core/planning/supply.h"

#include <algorithm>
#include <iterator>

namespace glim::core {
namespace {

constexpr std::uint64_t kSupplyStale = 16;  // a sixteenth of the starts may be missing from the sums

// Of attempts of one class, the least urgent first: all that IsPreemptedBy could be true of, and perhaps more.
template <typename Own>
auto EndOfPreemptible(const Own& own, const Urgency& asker) {
  return std::partition_point(own.begin(), own.end(), [&](const auto& a) { return a.first > asker; });
}

}  // namespace

const Supplies::Supply& Supplies::SupplyOf(const std::string& pool, const PoolView& view) {
  Supply& supply = supplies_[pool];
  // What was started or kept back since makes it too large: still a bound. In a pass of many starts it is made anew
  // ever more seldom, so that each start costs little.
  if (supply.starts > 0 && view.starts - supply.starts <= view.starts / kSupplyStale) return supply;
  supply = {};
  supply.starts = view.starts;
  for (const PassNode& node : view.nodes) {
    if (!node.usable || node.taken) continue;
    const std::uint32_t owner = node.claimant != kNobody ? node.claimant : node.holder;
    if (owner == kNobody || (node.claimant == kNobody && !view.attempts[owner].steady &&
                             view.attempts[owner].row->state != AttemptState::kClaimed)) {
      ++supply.loose;
    } else if (view.attempts[owner].row->state == AttemptState::kClaimed && !view.attempts[owner].gone) {
      Supply::Claims& claims = supply.claimed[view.attempts[owner].priority];
      ++claims.all;
      if (view.attempts[owner].borrowed) ++claims.borrowed;
    }
  }
  for (const std::uint32_t at : view.least_urgent_first) {
    const PassAttempt& a = view.attempts[at];
    if (a.gone || a.spoken_for) continue;
    Supply::Level& level = supply.levels[a.priority];
    level.later += a.nodes;
    if (now_ >= a.min_run_until) level.now += a.nodes;
    if (a.borrowed) level.borrowed += a.nodes;
    const std::uint32_t own_now = now_ >= a.quantum_until ? a.nodes : 0;
    level.own.push_back({a.urgency, {own_now, a.nodes}});
  }
  for (auto& [priority, level] : supply.levels) {
    std::uint32_t sum_now = 0, sum_later = 0;
    for (auto& [urgency, nodes] : level.own) {
      nodes = {sum_now += nodes.first, sum_later += nodes.second};
    }
  }
  return supply;
}

std::uint32_t Supplies::AtMost(const PoolView& view, const Asker& asker, bool later) {
  const Supply& supply = SupplyOf(asker.job->spec->pool, view);
  std::uint32_t most = supply.loose;
  if (!asker.may_interrupt) return most;
  for (const auto& [priority, claims] : supply.claimed) {
    if (priority <= asker.priority) most += priority < asker.priority ? claims.all : claims.borrowed;
  }
  const bool unbound = later || asker.priority == PriorityClass::kExtremeHigh;
  for (const auto& [priority, level] : supply.levels) {
    if (priority < asker.priority) most += unbound ? level.later : level.now;
    if (priority != asker.priority || level.own.empty()) continue;
    most += level.borrowed;
    const auto end = asker.starved ? level.own.end() : EndOfPreemptible(level.own, asker.urgency);
    if (end != level.own.begin()) most += unbound ? std::prev(end)->second.second : std::prev(end)->second.first;
  }
  return most;
}

}  // namespace glim::core
