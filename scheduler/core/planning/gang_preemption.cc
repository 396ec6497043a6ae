#include "scheduler/core/planning/gang_preemption.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "scheduler/core/planning/trace_words.h"

namespace glim::core {
namespace {

std::vector<Candidate> Where(const Field& field, Tier tier_max, bool with_left_out) {
  std::vector<Candidate> some;
  for (const Candidate& c : field.candidates) {
    if (c.tier <= tier_max && (with_left_out || !c.left_out)) some.push_back(c);
  }
  return some;
}

bool Crosses(const Pass& pass, const JobSpec& spec, const Field& field) {
  return field.ask->MayCross(spec, pass.policy());
}

VictimOption OptionOf(Pass& pass, const std::string& pool, AttemptId holder, std::uint32_t nodes) {
  const PassAttempt& attempt = pass.WithPreemptionCost(pool, holder);
  return {holder, attempt.priority, attempt.borrowed, attempt.preemption_cost_gpu_ms, nodes};
}

// Those that must go in any case are left out.
std::vector<VictimOption> VictimOptions(Pass& pass, const std::string& pool, const std::vector<Candidate>& candidates,
                                        const std::set<AttemptId>& going) {
  std::vector<AttemptId> holders;  // one for each node
  for (const Candidate& c : candidates) {
    if (c.tier == Tier::kVictim && !going.contains(c.holder)) holders.push_back(c.holder);
  }
  std::sort(holders.begin(), holders.end());
  std::vector<VictimOption> options;
  for (const AttemptId holder : holders) {
    if (options.empty() || options.back().attempt != holder) options.push_back(OptionOf(pass, pool, holder, 0));
    ++options.back().nodes;
  }
  return options;
}

// Adds those that have to go for the link, and what that costs.
void AddForLink(Pass& pass, const std::string& pool, const std::set<AttemptId>& for_link, GangPreemption& preemption) {
  for (const AttemptId id : for_link) {
    if (pass.state().FindAttempt(id)->state == AttemptState::kClaimed) {
      preemption.displaced.push_back(id);
      continue;
    }
    const VictimOption option = OptionOf(pass, pool, id, 0);
    preemption.choice.victims.push_back(id);
    preemption.choice.preemption_cost_gpu_ms += option.preemption_cost_gpu_ms;
    preemption.choice.highest = std::max(preemption.choice.highest, option.charged);
  }
}

// `for_link`: those that go in any case, because they have the link between the zones.
std::optional<GangPreemption> GangPreemptionIn(Pass& pass, const JobSpec& spec, const Field& field,
                                               const std::set<std::uint32_t>& zones,
                                               const std::set<AttemptId>& for_link) {
  const std::uint32_t nodes = spec.nodes;
  std::vector<Candidate> here;
  std::uint32_t without_more = 0;
  for (const Candidate& c : field.candidates) {
    if (!zones.contains(c.zone)) continue;
    here.push_back(c);
    if (c.tier != Tier::kVictim || for_link.contains(c.holder)) ++without_more;
  }
  if (here.size() < nodes) return std::nullopt;
  GangPreemption preemption;
  if (without_more < nodes) {
    auto choice = ChooseVictims(VictimOptions(pass, spec.pool, here, for_link), nodes - without_more);
    if (!choice) return std::nullopt;
    preemption.choice = *choice;
  }
  std::set<AttemptId> victims(preemption.choice.victims.begin(), preemption.choice.victims.end());
  victims.insert(for_link.begin(), for_link.end());
  std::erase_if(here, [&](const Candidate& c) { return c.tier == Tier::kVictim && !victims.contains(c.holder); });
  preemption.nodes = TakeCheapest(here, nodes);
  const std::set<NodeId> used(preemption.nodes.begin(), preemption.nodes.end());
  std::set<AttemptId> displaced, giving;
  for (const Candidate& c : here) {
    if (!used.contains(c.node) || for_link.contains(c.holder)) continue;
    if (c.tier == Tier::kDisplaced) displaced.insert(c.holder);
    if (c.tier == Tier::kVictim) giving.insert(c.holder);
  }
  preemption.displaced.assign(displaced.begin(), displaced.end());
  // A victim that gives no node in the end is spared.
  std::erase_if(preemption.choice.victims, [&](AttemptId victim) { return !giving.contains(victim); });
  AddForLink(pass, spec.pool, for_link, preemption);
  return preemption;
}

// How many holders of the link are gone with that one: it, and whoever is being asked to leave for it.
std::uint32_t GoneWith(const ClusterState& state, AttemptId id, const LinkUse& use) {
  return 1 + static_cast<std::uint32_t>(std::count_if(use.holders.begin(), use.holders.end(), [&](AttemptId other) {
           const Agreement* agreement = state.FindAttempt(other)->open_agreement();
           return agreement && agreement->preemptor == id;
         }));
}

// Who of the link's holders has to go for one more job, the least preemption cost; none: not enough of them give way.
std::optional<std::set<AttemptId>> WhoLeavesTheLink(Pass& pass, const Asker& asker, const LinkUse& use) {
  if (use.planned >= use.jobs_max) return std::nullopt;
  const std::size_t too_many = use.holders.size() + use.planned + 1 - use.jobs_max;
  const std::string& pool = asker.job->spec->pool;
  std::vector<VictimOption> options;
  for (const AttemptId id : use.holders) {
    const std::optional<TimePoint> from = pass.GivesWayFrom(id, asker);
    if (from && !*from) options.push_back(OptionOf(pass, pool, id, GoneWith(pass.state(), id, use)));
  }
  const auto choice = ChooseVictims(std::move(options), static_cast<std::uint32_t>(too_many));
  if (!choice) return std::nullopt;
  return std::set<AttemptId>(choice->victims.begin(), choice->victims.end());
}

// Over one link: with its holder among the victims where that is needed.
std::optional<GangPreemption> GangPreemptionOver(Pass& pass, const Asker& asker, const Field& field, std::uint32_t a,
                                                 std::uint32_t b) {
  const JobSpec& spec = *asker.job->spec;
  auto preemption = GangPreemptionIn(pass, spec, field, {a, b}, {});
  if (!preemption) return std::nullopt;
  std::vector<AttemptId> leaving = preemption->choice.victims;
  leaving.insert(leaving.end(), preemption->displaced.begin(), preemption->displaced.end());
  if (pass.LinkFree(a, b, leaving)) return preemption;
  const auto for_link = WhoLeavesTheLink(pass, asker, pass.LinkUseOf(a, b, {}));
  if (!for_link) return std::nullopt;
  preemption = GangPreemptionIn(pass, spec, field, {a, b}, *for_link);
  if (preemption) preemption->for_link = true;
  return preemption;
}

// When a node, or a link, is to be had.
using Turn = std::tuple<TimePoint, Tier, NodeId>;
constexpr TimePoint kNever{std::numeric_limits<std::int64_t>::max()};

TimePoint LinkFrom(Pass& pass, const Asker& asker, std::uint32_t a, std::uint32_t b, std::set<AttemptId>& leaving) {
  const LinkUse use = pass.LinkUseOf(a, b, {});
  if (use.Free()) return {};
  if (use.planned >= use.jobs_max) return kNever;
  std::vector<std::pair<TimePoint, AttemptId>> soonest;
  for (const AttemptId id : use.holders) {
    if (const auto from = pass.GivesWayFrom(id, asker)) soonest.emplace_back(*from, id);
  }
  const std::size_t too_many = use.holders.size() + use.planned + 1 - use.jobs_max;
  if (soonest.size() < too_many) return kNever;
  std::sort(soonest.begin(), soonest.end());
  for (std::size_t i = 0; i < too_many; ++i) leaving.insert(soonest[i].second);
  return soonest[too_many - 1].first;
}

// What an asker could wait for: nodes of one zone, or of two with the link between them.
struct Hold {
  TimePoint from = kNever;
  std::vector<NodeId> nodes;
  std::set<AttemptId> leaving;  // the link
};

class HoldChoice {
 public:
  HoldChoice(Pass& pass, const Asker& asker, const Field& field) : pass_(pass), asker_(asker) {
    for (const Candidate& c : field.candidates) by_zone_[c.zone].push_back({TimePoint{}, c.tier, c.node});
    for (const auto& [until, c] : field.later) by_zone_[c.zone].push_back({until, c.tier, c.node});
  }

  Hold Best(bool crosses) {
    for (auto& [zone, turns] : by_zone_) Consider(turns, {}, {});
    if (!crosses) return best_;
    for (auto a = by_zone_.begin(); a != by_zone_.end(); ++a) {
      for (auto b = std::next(a); b != by_zone_.end(); ++b) {
        std::set<AttemptId> leaving;
        const TimePoint link = LinkFrom(pass_, asker_, a->first, b->first, leaving);
        std::vector<Turn> both = a->second;
        both.insert(both.end(), b->second.begin(), b->second.end());
        if (link != kNever) Consider(std::move(both), link, leaving);
      }
    }
    return best_;
  }

 private:
  void Consider(std::vector<Turn> turns, TimePoint link, const std::set<AttemptId>& leaving) {
    const std::uint32_t nodes = asker_.job->spec->nodes;
    if (turns.size() < nodes) return;
    std::sort(turns.begin(), turns.end());
    turns.resize(nodes);
    const TimePoint from = std::max(link, std::get<0>(turns.back()));
    if (from >= best_.from) return;
    best_ = {from, {}, leaving};
    for (const auto& [until, tier, node] : turns) best_.nodes.push_back(node);
  }

  Pass& pass_;
  const Asker& asker_;
  std::map<std::uint32_t, std::vector<Turn>> by_zone_;
  Hold best_;
};

}  // namespace

std::vector<NodeId> PlaceWithoutVictims(const Pass& pass, const JobSpec& spec, const Field& field) {
  MayCrossFn may_cross;
  if (Crosses(pass, spec, field)) {
    may_cross = [&pass](std::uint32_t a, std::uint32_t b) { return pass.LinkFree(a, b, {}); };
  }
  const auto avoided = [](const Candidate& c) { return c.avoid; };
  if (std::any_of(field.candidates.begin(), field.candidates.end(), avoided)) {
    std::vector<Candidate> others = Where(field, Tier::kFree, false);
    std::erase_if(others, avoided);
    std::vector<NodeId> nodes = Place(others, spec.nodes, may_cross);
    if (!nodes.empty()) return nodes;
  }
  const bool some_left_out =
      std::any_of(field.candidates.begin(), field.candidates.end(), [](const Candidate& c) { return c.left_out; });
  for (const bool with_left_out : {false, true}) {
    if (with_left_out && !some_left_out) break;
    for (const Tier tier : {Tier::kFree, Tier::kEmptying}) {
      std::vector<NodeId> nodes = Place(Where(field, tier, with_left_out), spec.nodes, may_cross);
      if (!nodes.empty()) return nodes;
    }
  }
  return {};
}

namespace {

std::optional<GangPreemption> CheapestAmong(Pass& pass, const Asker& asker, const Field& field) {
  const JobSpec& spec = *asker.job->spec;
  std::optional<GangPreemption> best;
  const auto cost = [](const GangPreemption& s) {
    return std::tuple(s.choice.highest, s.choice.preemption_cost_gpu_ms, s.choice.victims.size());
  };
  PassTrace* const trace = pass.TraceOf(*asker.job);
  const auto consider = [&](std::optional<GangPreemption> preemption, const std::vector<std::uint32_t>& zones) {
    TellPreemption(trace, pass, asker, field, zones, preemption);
    if (preemption && (!best || cost(*preemption) < cost(*best))) best = std::move(preemption);
  };
  const auto& zones = field.ask->by_zone;
  for (const auto& [zone, fitting] : zones) {
    if (fitting >= spec.nodes) consider(GangPreemptionIn(pass, spec, field, {zone}, {}), {zone});
  }
  if (best) TellChosen(trace, *best);
  if (best || !Crosses(pass, spec, field)) return best;
  for (auto a = zones.begin(); a != zones.end(); ++a) {
    for (auto b = std::next(a); b != zones.end(); ++b) {
      consider(GangPreemptionOver(pass, asker, field, a->first, b->first), {a->first, b->first});
    }
  }
  if (best) TellChosen(trace, *best);
  return best;
}

}  // namespace

std::optional<GangPreemption> CheapestGangPreemption(Pass& pass, const Asker& asker, const Field& field) {
  const auto left_out = [](const Candidate& c) { return c.left_out; };
  if (std::any_of(field.candidates.begin(), field.candidates.end(), left_out)) {
    Field others = field;
    std::erase_if(others.candidates, left_out);
    if (auto preemption = CheapestAmong(pass, asker, others)) return preemption;
  }
  return CheapestAmong(pass, asker, field);
}

bool MayHoldBack(const Pass& pass, const Asker& asker) {
  return asker.starved || pass.now() - asker.job->queued_at >= pass.policy().backfill_hold_after;
}

void MaybeHoldBack(Pass& pass, const Asker& asker, const Field& field) {
  const JobSpec& spec = *asker.job->spec;
  PassTrace* const trace = pass.TraceOf(*asker.job);
  if (!MayHoldBack(pass, asker)) return TellNoHoldYet(trace, pass, asker);
  const Hold hold = HoldChoice(pass, asker, field).Best(Crosses(pass, spec, field));
  TellHold(trace, pass, hold.from == kNever ? std::nullopt : std::optional(hold.from), hold.nodes);
  if (hold.from == kNever) return;
  pass.HoldBack(spec.pool, hold.nodes, std::max(hold.from, pass.now() + Milliseconds(1)));
  for (const AttemptId id : hold.leaving) pass.SpeakFor(spec.pool, id);
}

}  // namespace glim::core
