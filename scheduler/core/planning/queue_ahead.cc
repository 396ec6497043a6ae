#include "scheduler/core/planning/queue_ahead.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "scheduler/core/model/account_access.h"

namespace glim::core {
namespace {

// As Head in planner.cc.
using OrderKey = std::tuple<std::int32_t, bool, bool, TimePoint, bool, Urgency, QueueKey>;

OrderKey TurnOf(const Pass& pass, const Job& job, const Urgency& urgency) {
  const QuotaTurn turn = pass.quota().TurnOf(job);
  const std::int32_t less_urgent = -static_cast<std::int32_t>(turn.order);
  const bool borrows = turn.standing != QuotaStanding::kWithin;
  const bool starves = !borrows && job.queued_at <= pass.now() - pass.policy().starvation_bound;
  const QueueKey key = QueueKeyOf(job);
  return {less_urgent, borrows, !starves, starves ? job.queued_at : TimePoint{}, key.not_swap_aborted, urgency, key};
}

}  // namespace

Ahead AheadOf(const Pass& pass, const Job& job, std::size_t first_max) {
  const ClusterState& state = pass.state();
  const OrderKey mine = TurnOf(pass, job, pass.UrgencyOf(ShapeOf(job)));
  std::vector<std::pair<OrderKey, const Job*>> before;
  for (const auto& [shape, queue] : state.index().queue) {
    if (shape.pool != job.spec->pool) continue;
    if (BarOf(state.accounts(), pass.policy(), shape.user, shape.team, shape.pool) != Bar::kNone) continue;
    const Urgency urgency = pass.UrgencyOf(shape);
    for (const QueueKey& key : queue) {
      if (key.id == job.id) continue;
      const Job* other = state.FindJob(key.id);
      const OrderKey turn = TurnOf(pass, *other, urgency);
      if (turn < mine) before.emplace_back(turn, other);
    }
  }
  Ahead ahead;
  ahead.count = before.size();
  const auto shown = static_cast<std::ptrdiff_t>(std::min(first_max, before.size()));
  std::partial_sort(before.begin(), before.begin() + shown, before.end(),
                    [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::ptrdiff_t i = 0; i < shown; ++i) ahead.first.push_back(before[static_cast<std::size_t>(i)].second);
  return ahead;
}

}  // namespace glim::core
