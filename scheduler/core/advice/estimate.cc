#include "scheduler/core/advice/estimate.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "scheduler/core/model/account_access.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/planning/job_order.h"

namespace glim::core {
namespace {

enum class Luck { kGood, kBad };  // the fastest tenth of what may come, and the slowest

class Forecast {
 public:
  Forecast(Pass& pass, const Job& job, Luck luck)
      : pass_(pass),
        job_(job),
        luck_(luck),
        priority_(pass.quota().TurnOf(job).order),
        urgency_(pass.UrgencyOf(ShapeOf(job))) {
    AddNodes();
  }

  // When `nodes` are free after those before it have had theirs; 0: never, as far as can be seen.
  TimePoint After(const Ahead& ahead) {
    for (const Job* other : ahead.first) {
      if (luck_ == Luck::kGood && other->spec->nodes > job_.spec->nodes) continue;  // passed by backfilling
      if (!WaitFor(other->spec->nodes)) continue;
      free_ -= other->spec->nodes;
      const TimePoint until = now_ + Remaining(*other, other->service);
      frees_.emplace(until, other->spec->nodes);
    }
    return WaitFor(job_.spec->nodes) ? now_ : TimePoint{};
  }

 private:
  // Moves on until so many are free.
  bool WaitFor(std::uint32_t nodes) {
    while (free_ < nodes) {
      if (frees_.empty()) return false;
      now_ = std::max(now_, frees_.top().first);
      free_ += frees_.top().second;
      frees_.pop();
    }
    return true;
  }

  Duration Remaining(const Job& job, Duration service) const {
    const Policy& policy = pass_.policy();
    const ServiceHistory& history = pass_.state().index().history;
    const RemainingTime known = history.RemainingOf(KindOf(job), ServiceBucket(service));
    Duration left = luck_ == Luck::kGood ? known.p10 : known.p90;
    const Duration limit = job.spec->time_limit;
    if (limit.ms > 0 && policy.enforce_time_limits) left = std::min(left, std::max(Duration{}, limit - service));
    return left;
  }

  // When the holder gives its nodes up, by itself or because it must.
  TimePoint GivenUp(const PassAttempt& holder) const {
    const TimePoint now = pass_.now();
    const Attempt& attempt = *holder.row;
    if (!holder.steady) {
      if (luck_ == Luck::kGood) return now;
      const Agreement* agreement = attempt.open_agreement();
      const Duration kill = pass_.policy().kill_after_term;
      if (attempt.stop != StopCause::kNone) return std::max(now, attempt.stop_at + kill);
      return agreement ? std::max(now, agreement->deadline + kill) : now;
    }
    const TimePoint ends = now + Remaining(*holder.job, ServiceOf(*holder.job, holder.row, now));
    const bool lower = holder.priority < priority_ || (holder.borrowed && holder.priority <= priority_);
    if (lower) return std::min(ends, std::max(now, holder.min_run_until));
    const bool is_preempted =
        holder.priority == priority_ && IsPreemptedBy(pass_.preempt_gain(), holder.urgency, urgency_);
    return luck_ == Luck::kGood && is_preempted ? std::min(ends, std::max(now, holder.quantum_until)) : ends;
  }

  void AddNodes() {
    now_ = pass_.now();
    const PoolView& view = pass_.PoolOf(job_.spec->pool);
    standing_ = pass_.ReservedStanding(job_);
    for (const std::uint32_t i : pass_.AskOf(job_).nodes) {
      const PassNode& node = view.nodes[i];
      if (!node.usable) continue;
      TimePoint at = now_;
      if (node.holder != kNobody && view.attempts[node.holder].row->state != AttemptState::kClaimed) {
        at = GivenUp(view.attempts[node.holder]);
      }
      // Held back for one that waits for the rest of its nodes.
      const bool held_back = node.holder != kNobody && view.attempts[node.holder].row->state == AttemptState::kClaimed;
      const std::uint32_t next = node.claimant != kNobody ? node.claimant : held_back ? node.holder : kNobody;
      if (next != kNobody) {
        const Job& preemptor = *view.attempts[next].job;
        at = at + Remaining(preemptor, preemptor.service);
      }
      at = OutsideReservations(view, i, at);
      if (at <= now_) {
        ++free_;
      } else {
        frees_.emplace(at, 1);
      }
    }
  }

  // The first moment from `at` on at which no reservation keeps the node from the job.
  TimePoint OutsideReservations(const PoolView& view, std::uint32_t node, TimePoint at) const {
    if (view.reserved.empty()) return at;
    for (const std::uint32_t i : view.reserved[node]) {  // by begin
      const Reservation& row = *view.reservations[i];
      const bool closed = at <= now_ ? standing_[i] == ReservedFor::kClosed : at >= row.begins_at;
      if (closed && !IsOf(row, job_.team)) at = std::max(at, row.ends_at);
    }
    return at;
  }

  using Frees = std::pair<TimePoint, std::uint32_t>;

  Pass& pass_;
  const Job& job_;
  const Luck luck_;
  const PriorityClass priority_;
  const Urgency urgency_;
  TimePoint now_;
  std::vector<ReservedFor> standing_;
  std::uint32_t free_ = 0;
  std::priority_queue<Frees, std::vector<Frees>, std::greater<>> frees_;
};

}  // namespace

bool HasNodes(Pass& pass, const Job& job) {
  const AskView& ask = pass.AskOf(job);
  const NodesOut out = OutOf(pass.PoolOf(job.spec->pool), ask);
  return MostTogether(ask, out, *job.spec, pass.policy(), pass.state()) >= job.spec->nodes;
}

bool HasUnreservedNodes(Pass& pass, const Job& job) {
  const std::vector<ReservedFor> standing = pass.ReservedStanding(job);
  if (standing.empty()) return true;
  const AskView& ask = pass.AskOf(job);
  const PoolView& view = pass.PoolOf(job.spec->pool);
  NodesOut out = OutOf(view, ask);
  for (const std::uint32_t i : ask.nodes) {
    if (!view.nodes[i].usable || StandingAt(view.reserved, standing, i) != ReservedFor::kClosed) continue;
    ++out.all;
    ++out.by_zone[view.nodes[i].zone];
  }
  return MostTogether(ask, out, *job.spec, pass.policy(), pass.state()) >= job.spec->nodes;
}

bool NeedsLinkOfOtherPools(Pass& pass, const Job& job) {
  const AskView& ask = pass.AskOf(job);
  const NodesOut out = OutOf(pass.PoolOf(job.spec->pool), ask);
  const bool fits_a_zone = std::any_of(ask.by_zone.begin(), ask.by_zone.end(), [&](const auto& zone) {
    const auto gone = out.by_zone.find(zone.first);
    return zone.second - (gone == out.by_zone.end() ? 0 : gone->second) >= job.spec->nodes;
  });
  if (fits_a_zone) return false;
  const auto& pools = pass.state().layouts().pools;
  return std::any_of(pools.begin(), pools.end(), [&](const auto& pool) {
    const std::vector<std::uint32_t>& zones = pool.second.zones;
    return pool.first != job.spec->pool &&
           std::adjacent_find(zones.begin(), zones.end(), std::not_equal_to<>()) != zones.end();
  });
}

Estimate EstimateStart(Pass& pass, const Job& job, const Ahead& ahead, TimePoint promised_by) {
  Estimate estimate;
  if (!job.waits_for.empty()) {
    estimate.unknown = "it waits for other jobs to end";
    return estimate;
  }
  if (job.waits_for_save) {
    const bool runs = static_cast<bool>(OrphanOf(pass.state(), job.id));
    estimate.unknown = runs ? "it waits for an attempt of its own to end" : "it waits for a node to be heard again";
    return estimate;
  }
  if (BarOf(pass.state().accounts(), pass.policy(), job.user, job.team, job.spec->pool) != Bar::kNone) {
    estimate.unknown = "it waits for an operator";
    return estimate;
  }
  if (!HasNodes(pass, job)) {
    estimate.unknown = "too few nodes that fit take jobs now";
    return estimate;
  }
  if (pass.state().index().history.observed() < kEndsKnownMin) {
    estimate.unknown = "too few jobs have ended yet to know how long jobs take here";
    return estimate;
  }
  const TimePoint from = std::max(pass.now(), job.not_before);
  const TimePoint earliest = Forecast(pass, job, Luck::kGood).After(ahead);
  if (!earliest) {
    estimate.unknown = "not enough nodes that fit are in use or free";
    return estimate;
  }
  estimate.earliest = std::max(from, earliest);
  if (pass.quota().TurnOf(job).standing != QuotaStanding::kWithin) {
    estimate.unknown = "beyond its quota it starts only on nodes that nobody else needs";
    return estimate;
  }
  if (ahead.count > ahead.first.size()) {
    estimate.latest = promised_by;
  } else {
    estimate.latest = std::max(from, Forecast(pass, job, Luck::kBad).After(ahead));
    if (promised_by) estimate.latest = std::min(estimate.latest, promised_by);
  }
  if (!estimate.latest) estimate.unknown = "too many jobs are before it";
  if (estimate.latest) estimate.earliest = std::min(estimate.earliest, estimate.latest);  // the promise comes first
  return estimate;
}

}  // namespace glim::core
