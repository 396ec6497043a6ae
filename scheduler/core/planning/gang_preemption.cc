#include "scheduler/core/planning/gang_preemption.h"

#include <algorithm>
#include <tuple>

#include "scheduler/core/model/feasibility.h"

namespace glim::core {
namespace {

std::vector<Candidate> Where(const Field& field, Tier tier_max) {
  std::vector<Candidate> some;
  for (const Candidate& c : field.candidates) {
    if (c.tier <= tier_max) some.push_back(c);
  }
  return some;
}

bool Crosses(const Pass& pass, const JobSpec& spec, const Field& field) {
  std::size_t largest = 0;
  for (const auto& [zone, nodes] : field.ask->by_zone) largest = std::max(largest, nodes);
  return MayCross(spec, pass.policy(), largest);
}

std::vector<VictimOption> VictimOptions(Pass& pass, const std::string& pool, const std::vector<Candidate>& candidates) {
  std::vector<AttemptId> holders;  // one for each node
  for (const Candidate& c : candidates) {
    if (c.tier == Tier::kVictim) holders.push_back(c.holder);
  }
  std::sort(holders.begin(), holders.end());
  std::vector<VictimOption> options;
  for (const AttemptId holder : holders) {
    if (options.empty() || options.back().attempt != holder) {
      const PassAttempt& attempt = pass.WithPreemptionCost(pool, holder);
      options.push_back({holder, attempt.priority, attempt.borrowed, attempt.preemption_cost_gpu_ms, 0});
    }
    ++options.back().nodes;
  }
  return options;
}

std::optional<GangPreemption> GangPreemptionIn(Pass& pass, const JobSpec& spec, const Field& field,
                                               const std::set<std::uint32_t>& zones) {
  const std::uint32_t nodes = spec.nodes;
  std::vector<Candidate> here;
  std::uint32_t without_victims = 0;
  for (const Candidate& c : field.candidates) {
    if (!zones.contains(c.zone)) continue;
    here.push_back(c);
    if (c.tier != Tier::kVictim) ++without_victims;
  }
  if (here.size() < nodes) return std::nullopt;
  GangPreemption preemption;
  if (without_victims < nodes) {
    auto choice = ChooseVictims(VictimOptions(pass, spec.pool, here), nodes - without_victims);
    if (!choice) return std::nullopt;
    preemption.choice = *choice;
  }
  const std::set<AttemptId> victims(preemption.choice.victims.begin(), preemption.choice.victims.end());
  std::erase_if(here, [&](const Candidate& c) { return c.tier == Tier::kVictim && !victims.contains(c.holder); });
  preemption.nodes = TakeCheapest(here, nodes);
  const std::set<NodeId> used(preemption.nodes.begin(), preemption.nodes.end());
  std::set<AttemptId> displaced, giving;
  for (const Candidate& c : here) {
    if (!used.contains(c.node)) continue;
    if (c.tier == Tier::kDisplaced) displaced.insert(c.holder);
    if (c.tier == Tier::kVictim) giving.insert(c.holder);
  }
  preemption.displaced.assign(displaced.begin(), displaced.end());
  // A victim that gives no node in the end is spared.
  std::erase_if(preemption.choice.victims, [&](AttemptId victim) { return !giving.contains(victim); });
  return preemption;
}

}  // namespace

std::vector<NodeId> PlaceWithoutVictims(const Pass& pass, const JobSpec& spec, const Field& field) {
  MayCrossFn may_cross;
  if (Crosses(pass, spec, field)) {
    may_cross = [&pass](std::uint32_t a, std::uint32_t b) { return pass.LinkFree(a, b, {}); };
  }
  for (const Tier tier : {Tier::kFree, Tier::kEmptying}) {
    std::vector<NodeId> nodes = Place(Where(field, tier), spec.nodes, may_cross);
    if (!nodes.empty()) return nodes;
  }
  return {};
}

std::optional<GangPreemption> CheapestGangPreemption(Pass& pass, const JobSpec& spec, const Field& field) {
  std::optional<GangPreemption> best;
  const auto cost = [](const GangPreemption& s) {
    return std::tuple(s.choice.highest, s.choice.preemption_cost_gpu_ms, s.choice.victims.size());
  };
  const auto consider = [&](std::optional<GangPreemption> preemption) {
    if (preemption && (!best || cost(*preemption) < cost(*best))) best = std::move(preemption);
  };
  const auto& zones = field.ask->by_zone;
  for (const auto& [zone, fitting] : zones) {
    if (fitting >= spec.nodes) consider(GangPreemptionIn(pass, spec, field, {zone}));
  }
  if (best || !Crosses(pass, spec, field)) return best;
  for (auto a = zones.begin(); a != zones.end(); ++a) {
    for (auto b = std::next(a); b != zones.end(); ++b) {
      std::optional<GangPreemption> preemption = GangPreemptionIn(pass, spec, field, {a->first, b->first});
      if (preemption && pass.LinkFree(a->first, b->first, preemption->choice.victims)) consider(std::move(preemption));
    }
  }
  return best;
}

void MaybeHoldBack(Pass& pass, const Asker& asker, const Field& field) {
  const JobSpec& spec = *asker.job->spec;
  if (!asker.starved && pass.now() - asker.job->queued_at < pass.policy().backfill_hold_after) return;
  // (until, tier, candidate), soonest first, by zone; a job that may cross takes them from anywhere.
  std::map<std::uint32_t, std::vector<std::tuple<TimePoint, Tier, NodeId>>> by_zone;
  const bool crosses = Crosses(pass, spec, field);
  for (const Candidate& c : field.candidates) by_zone[crosses ? 0 : c.zone].push_back({TimePoint{}, c.tier, c.node});
  for (const auto& [until, c] : field.later) by_zone[crosses ? 0 : c.zone].push_back({until, c.tier, c.node});
  std::vector<std::tuple<TimePoint, Tier, NodeId>>* best = nullptr;
  for (auto& [zone, some] : by_zone) {
    if (some.size() < spec.nodes) continue;
    std::sort(some.begin(), some.end());
    some.resize(spec.nodes);
    if (!best || std::get<0>(some.back()) < std::get<0>(best->back())) best = &some;
  }
  if (!best) return;
  std::vector<NodeId> nodes;
  for (const auto& [until, tier, node] : *best) nodes.push_back(node);
  pass.HoldBack(spec.pool, nodes, std::max(std::get<0>(best->back()), pass.now() + Milliseconds(1)));
}

}  // namespace glim::core
