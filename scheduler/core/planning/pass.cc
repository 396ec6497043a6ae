#include "scheduler/core/planning/pass.h"

#include <algorithm>

#include "scheduler/core/model/allowed_paths.h"
#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/planning/victims.h"

namespace glim::core {
namespace {

std::pair<std::string, std::string> LinkKey(const std::string& a, const std::string& b) {
  return a < b ? std::pair(a, b) : std::pair(b, a);
}

}  // namespace

Pass::Pass(const ClusterState& state, const Policy& policy, TimePoint now)
    : state_(state), policy_(policy), now_(now), preempt_gain_(PreemptGain(policy)), quota_(state, policy) {
  for (const auto& [pool, attempts] : state.index().live) {
    for (const AttemptId id : attempts) {
      const Attempt& attempt = *state.FindAttempt(id);
      if (attempt.zones.size() == 2) links_[LinkKey(attempt.zones[0], attempt.zones[1])].insert(id);
      const Agreement* agreement = attempt.open_agreement();
      if (agreement && agreement->moved && !agreement->suspend && !agreement->time_limit) moving_.push_back(id);
    }
  }
  AddShares();
}

PoolView& Pass::PoolOf(const std::string& pool) {
  const auto [it, fresh] = pools_.try_emplace(pool);
  PoolView& view = it->second;
  if (!fresh) return view;
  view.starts = 1;
  const auto layout = state_.layouts().pools.find(pool);
  if (layout == state_.layouts().pools.end()) return view;
  view.layout = &layout->second;
  AddAttempts(pool, view);
  AddNodes(view);
  WaitForTheSilent(view);
  return view;
}

void Pass::AddAttempts(const std::string& pool, PoolView& view) {
  const auto live = state_.index().live.find(pool);
  if (live == state_.index().live.end()) return;
  view.attempts.reserve(live->second.size());
  for (const AttemptId id : live->second) {
    PassAttempt& a = view.attempts.emplace_back();
    a.id = id;
    a.row = state_.FindAttempt(id);
    a.job = state_.FindJob(id.job);
    a.nodes = static_cast<std::uint32_t>(a.row->nodes.size());
    a.borrowed = quota_.Borrowed(id);
    const bool begun = a.row->state == AttemptState::kStarting || a.row->state == AttemptState::kRunning;
    a.steady = begun && a.row->stop == StopCause::kNone && !a.row->open_agreement();
    if (!a.steady) continue;
    a.min_run_until = ProtectedUntil(state_, policy_, *a.row);
    a.quantum_until = std::max(a.min_run_until, a.row->started_at + a.row->quantum);
    a.save_due = SaveDue(state_, policy_, *a.row, now_);
    a.urgency.share = ShareOfTeam(a.job->team);
    a.urgency.score = ScoreOfRunning(state_, policy_, KindOf(*a.job), ServiceOf(*a.job, a.row, now_));
    view.least_urgent_first.push_back(static_cast<std::uint32_t>(view.attempts.size() - 1));
  }
  std::sort(view.least_urgent_first.begin(), view.least_urgent_first.end(),
            [&](std::uint32_t a, std::uint32_t b) { return view.attempts[a].urgency > view.attempts[b].urgency; });
}

void Pass::AddNodes(PoolView& view) const {
  const PoolLayout& layout = *view.layout;
  view.nodes.resize(layout.nodes.size());
  std::size_t at = 0;
  state_.tables().nodes.ForEach([&](NodeId id, const Node& row) {
    if (at == layout.nodes.size() || layout.nodes[at] != id) return;
    PassNode& node = view.nodes[at];
    node.id = id;
    node.row = &row;
    node.zone = layout.zones[at];
    node.leaf = layout.leaves[at];
    node.usable = IsUsable(row);
    ++at;
  });
  for (std::uint32_t i = 0; i < view.attempts.size(); ++i) {
    const PassAttempt& attempt = view.attempts[i];
    for (const NodeId id : attempt.row->nodes) {
      PassNode& node = view.nodes[layout.IndexOf(id)];
      if (node.row->holder == attempt.id) node.holder = i;
      if (node.row->claim == attempt.id) node.claimant = i;
    }
  }
}

// While a new leader has not heard all nodes, those that it will hear in a moment are not missing.
void Pass::WaitForTheSilent(PoolView& view) const {
  const TimePoint settled = state_.leader_since + policy_.node_lost_after;
  const bool silent = std::any_of(view.nodes.begin(), view.nodes.end(),
                                  [](const PassNode& node) { return node.row->state == NodeState::kSilent; });
  if (!silent || !state_.leader_since || now_ >= settled) return;
  for (PassAttempt& a : view.attempts) a.quantum_until = std::max(a.quantum_until, settled);
}

std::vector<bool> Pass::GivenTo(const JobSpec& spec) {
  const PoolView& view = PoolOf(spec.pool);
  return view.layout ? ListsThatGive(*view.layout, spec) : std::vector<bool>();
}

const AskView& Pass::AskOf(const JobSpec& spec) {
  const std::vector<bool> give = GivenTo(spec);
  const auto [it, fresh] = asks_.try_emplace({spec.pool, spec.gpus_per_node, spec.placement, give});
  AskView& ask = it->second;
  if (!fresh) return ask;
  const PoolView& view = PoolOf(spec.pool);
  for (std::uint32_t i = 0; i < view.nodes.size(); ++i) {
    if (!Fits(view.nodes[i].row->labels, spec) || !(give.empty() || give[view.layout->folders[i]])) continue;
    ask.nodes.push_back(i);
    ++ask.by_zone[view.nodes[i].zone];
  }
  return ask;
}

// Shares tell teams apart: where there is one team, all are alike.
void Pass::AddShares() {
  std::map<std::string, std::int64_t> decayed;
  for (const auto& [shape, queue] : state_.index().queue) decayed.emplace(shape.team, 0);
  for (const auto& [pool, attempts] : state_.index().live) {
    for (const AttemptId id : attempts) decayed.emplace(state_.FindJob(id.job)->team, 0);
  }
  if (decayed.size() < 2) return;
  for (auto& [team, gpu_ms] : decayed) gpu_ms = state_.index().team_service.Decayed(team, now_);
  for (const auto& [pool, attempts] : state_.index().live) {
    for (const AttemptId id : attempts) {
      const Attempt& attempt = *state_.FindAttempt(id);
      if (!attempt.started_at) continue;
      const Job& job = *state_.FindJob(id.job);
      const std::int64_t gpus = std::int64_t{job.spec->gpus_per_node} * job.spec->nodes;
      decayed[job.team] += DecayedSpan(gpus, attempt.started_at, now_, now_);
    }
  }
  for (const auto& [team, gpu_ms] : decayed) shares_[team] = ShareOf(policy_, team, gpu_ms);
}

std::int32_t Pass::ShareOfTeam(const std::string& team) const {
  const auto it = shares_.find(team);
  return it == shares_.end() ? 0 : it->second;
}

Urgency Pass::UrgencyOf(const Shape& shape) const {
  return {ShareOfTeam(shape.team), ScoreOfWaiting(state_, policy_, KindOf(shape), BucketBegin(shape.service_bucket))};
}

PassAttempt& Pass::AttemptIn(PoolView& view, AttemptId id) {
  return *std::lower_bound(view.attempts.begin(), view.attempts.end(), id,
                           [](const PassAttempt& a, AttemptId wanted) { return a.id < wanted; });
}

const PassAttempt& Pass::WithPreemptionCost(const std::string& pool, AttemptId attempt) {
  PassAttempt& found = AttemptIn(PoolOf(pool), attempt);
  if (found.preemption_cost_gpu_ms < 0)
    found.preemption_cost_gpu_ms = PreemptionCostOf(state_, policy_, *found.row, now_);
  return found;
}

Pass::Verdict Pass::StandingOf(const PassAttempt& holder, const Asker& asker) const {
  if (!holder.steady || holder.gone || holder.spoken_for) return {};
  const PriorityClass charged = holder.row->charged;
  TimePoint until;
  if (charged < asker.priority || (holder.borrowed && charged <= asker.priority)) {
    if (asker.priority != PriorityClass::kExtremeHigh) until = holder.min_run_until;
  } else if (charged == asker.priority &&
             (asker.starved || IsPreemptedBy(preempt_gain_, holder.urgency, asker.urgency))) {
    until = holder.quantum_until;
  } else {
    return {};
  }
  if (now_ < until) return {Standing::kProtected, until};
  if (holder.save_due && asker.priority != PriorityClass::kExtremeHigh) return {Standing::kProtected, holder.save_due};
  return {Standing::kVictim, {}};
}

namespace {

void SumUp(Field& field) {
  field.holders_all = field.holders.size();
  const auto named = static_cast<std::ptrdiff_t>(std::min(field.holders_all, kHoldersNamed));
  std::partial_sort(field.holders.begin(), field.holders.begin() + named, field.holders.end());
  field.holders.resize(static_cast<std::size_t>(named));
  std::map<std::uint32_t, std::size_t> by_zone;
  for (const Candidate& c : field.candidates) {
    if (c.tier != Tier::kFree) continue;
    ++field.free;
    ++by_zone[c.zone];
  }
  for (const auto& [zone, free] : by_zone) {
    if (free <= field.free_in_best_zone) continue;
    field.free_in_best_zone = free;
    field.best_zone = zone;
  }
}

}  // namespace

Pass::Offer Pass::OfferOf(const PassAttempt& holder, const Asker& asker, Field& field) const {
  Offer offer{true, {}, {}};
  const PriorityClass charged = holder.row->charged;
  if (holder.row->state == AttemptState::kClaimed) {
    if (asker.may_interrupt && charged < asker.priority && !holder.gone) offer.tier = Tier::kDisplaced;
  } else if (!holder.steady) {
    // It left for a preemptor that went away, or to go on elsewhere: unless somebody is more urgent, it has the first
    // claim on its nodes.
    const Agreement* agreement = holder.row->open_agreement();
    const bool comes_first = agreement && (agreement->swap_aborted || agreement->moved);
    if (!comes_first || asker.priority > charged) offer.tier = Tier::kEmptying;
  } else if (asker.may_interrupt) {
    const Verdict verdict = StandingOf(holder, asker);
    if (verdict.standing == Standing::kVictim) offer.tier = Tier::kVictim;
    if (verdict.standing == Standing::kProtected) {
      offer.until = verdict.until;
      if (!field.protected_until || verdict.until < field.protected_until) {
        field.protected_until = verdict.until;
        field.lower_protected = charged < asker.priority;
      }
    }
  }
  if (!offer.tier) field.holders.push_back(holder.id.job);
  return offer;
}

Field Pass::FieldFor(const Asker& asker) {
  Field field;
  field.ask = &AskOf(*asker.job->spec);
  const PoolView& view = PoolOf(asker.job->spec->pool);
  std::vector<Offer> offers(view.attempts.size());
  field.candidates.reserve(field.ask->nodes.size());
  // Whoever is gone again before the rest is there does no harm to a backfill hold.
  const Duration limit = policy_.enforce_time_limits ? asker.job->spec->time_limit : Duration{};
  for (const std::uint32_t i : field.ask->nodes) {
    const PassNode& node = view.nodes[i];
    if (!node.usable || node.taken) continue;
    const bool has_save = !IsShared(asker.job->durable) && HasWhole(asker.job->durable, node.id);
    Candidate candidate{node.id, node.zone, node.leaf, node.row->suspect, Tier::kFree, {}, has_save};
    const std::uint32_t owner = node.claimant != kNobody ? node.claimant : node.holder;
    if (owner == kNobody) {
      const bool passes =
          !node.hold_until || asker.priority > node.hold_from || (limit.ms > 0 && now_ + limit <= node.hold_until);
      if (passes) field.candidates.push_back(candidate);
      if (!passes) ++field.held_back;
      continue;
    }
    Offer& offer = offers[owner];
    if (!offer.known) offer = OfferOf(view.attempts[owner], asker, field);
    candidate.holder = view.attempts[owner].id;
    candidate.tier = offer.tier.value_or(Tier::kVictim);
    if (offer.tier) {
      field.candidates.push_back(candidate);
    } else if (offer.until) {
      field.later.emplace_back(offer.until, candidate);
    }
  }
  SumUp(field);
  return field;
}

bool Pass::LinkFree(std::uint32_t zone_a, std::uint32_t zone_b, const std::vector<AttemptId>& leaving) const {
  const auto key = LinkKey(ZoneName(zone_a), ZoneName(zone_b));
  const std::uint32_t jobs_max = LinkJobsMax(policy_, key.first, key.second);
  std::uint32_t used = 0;
  if (const auto it = links_.find(key); it != links_.end()) {
    for (const AttemptId id : it->second) {
      const Attempt& attempt = *state_.FindAttempt(id);
      // Victims of other jobs' preemptions are not among them: their agreements may yet be withdrawn.
      const bool displaced = attempt.state == AttemptState::kClaimed && gone_.contains(id);
      const bool going =
          LeavesItsLink(attempt) || displaced || std::find(leaving.begin(), leaving.end(), id) != leaving.end();
      if (!going) ++used;
    }
  }
  const auto planned = links_planned_.find(key);
  if (planned != links_planned_.end()) used += planned->second;
  return used < jobs_max;
}

void Pass::Take(const PlannedStart& start, const Job& job) {
  PoolView& view = PoolOf(job.spec->pool);
  ++view.starts;
  for (const NodeId id : start.nodes) view.nodes[view.layout->IndexOf(id)].taken = true;
  TakeLink(view, start.nodes);
  const auto mark = [&](AttemptId id) {
    gone_.insert(id);
    AttemptIn(view, id).gone = true;
  };
  for (const AttemptId id : start.victims) mark(id);
  for (const AttemptId id : start.displaced) mark(id);
  if (!start.borrowed) quota_.Charge(job, start.charged);
}

void Pass::TakeLink(const PoolView& view, const std::vector<NodeId>& nodes) {
  std::set<std::string> zones;
  for (const NodeId id : nodes) zones.insert(ZoneName(view.nodes[view.layout->IndexOf(id)].zone));
  if (zones.size() == 2) ++links_planned_[LinkKey(*zones.begin(), *zones.rbegin())];
}

void Pass::Keep(const PassAttempt& moved, const std::vector<NodeId>& nodes, TimePoint until) {
  PoolView& view = PoolOf(moved.job->spec->pool);
  for (const NodeId id : nodes) {
    PassNode& node = view.nodes[view.layout->IndexOf(id)];
    if (node.holder != kNobody) continue;  // its own: nobody else gets them (OfferOf)
    node.hold_until = until;
    node.hold_from = moved.row->charged;
  }
  TakeLink(view, nodes);
}

void Pass::HoldBack(const std::string& pool, const std::vector<NodeId>& nodes, TimePoint until) {
  PoolView& view = PoolOf(pool);
  for (const NodeId id : nodes) {
    PassNode& node = view.nodes[view.layout->IndexOf(id)];
    if (node.holder == kNobody) {
      node.hold_until = until;
      node.hold_from = PriorityClass::kExtremeHigh;
    } else {
      view.attempts[node.holder].spoken_for = true;
    }
  }
}

}  // namespace glim::core
