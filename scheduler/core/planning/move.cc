#include "scheduler/core/planning/move.h"

#include <algorithm>
#include <map>
#include <utility>

#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/interrupt_terms.h"
#include "scheduler/core/planning/trace_words.h"

namespace glim::core {
namespace {

constexpr std::size_t kMovesTriedMax = 32;  // of those that could help, in one turn

using Zones = std::pair<std::uint32_t, std::uint32_t>;  // alike: one zone

Candidate CandidateOf(const PassNode& node, Tier tier, AttemptId holder) {
  return {node.id, node.zone, node.leaf, node.row->suspect, tier, holder};
}

bool IsFree(const PassNode& node, PriorityClass priority) {
  const bool kept = node.hold_until && priority <= node.hold_from;
  return node.usable && !node.taken && !kept && node.holder == kNobody && node.claimant == kNobody;
}

// `holder`: index in PoolView::attempts. Nobody waits for the node.
bool IsHeldBy(const PassNode& node, std::uint32_t holder) {
  return node.usable && !node.taken && node.holder == holder && node.claimant == kNobody;
}

bool MayCrossIn(Pass& pass, const Job& job) { return pass.AskOf(job).MayCross(*job.spec, pass.policy()); }

// Where it can go on: among what is free and what it holds itself, but for `without` (ascending).
std::vector<NodeId> PlaceElsewhere(Pass& pass, const PassAttempt& moved, const std::vector<NodeId>& without,
                                   const std::optional<Zones>& link_taken) {
  const JobSpec& spec = *moved.job->spec;
  const PoolView& view = pass.PoolOf(spec.pool);
  const auto index = static_cast<std::uint32_t>(&moved - view.attempts.data());
  std::vector<Candidate> candidates;
  const std::vector<ReservedFor> standing = pass.ReservedStanding(*moved.job);
  for (const std::uint32_t i : pass.AskOf(*moved.job).nodes) {
    const PassNode& node = view.nodes[i];
    if (!IsHeldBy(node, index) && !IsFree(node, moved.priority)) continue;
    if (StandingAt(view.reserved, standing, i) == ReservedFor::kClosed) continue;
    if (std::binary_search(without.begin(), without.end(), node.id)) continue;
    candidates.push_back(CandidateOf(node, Tier::kFree, {}));
  }
  MayCrossFn may_cross;
  if (MayCrossIn(pass, *moved.job)) {
    may_cross = [&](std::uint32_t a, std::uint32_t b) {
      return link_taken != Zones(a, b) && pass.LinkFree(a, b, {moved.id});
    };
  }
  return Place(candidates, spec.nodes, may_cross);
}

// One asker's look for a move.
class Mover {
 public:
  // `left_out`: nodes that the asker does not get, ascending.
  Mover(Pass& pass, const Asker& asker, const Field& field, std::vector<NodeId> left_out)
      : pass_(pass),
        asker_(asker),
        spec_(*asker.job->spec),
        view_(pass.PoolOf(spec_.pool)),
        field_(field),
        left_out_(std::move(left_out)),
        crosses_(MayCrossIn(pass, *asker.job)) {}

  std::optional<Move> Find(std::int64_t gain_gpu_ms, bool* considered) {
    // Two jobs on what is free and what the moved one holds: without that many free ones there is no room for both.
    std::size_t free = 0;
    for (const PassNode& node : view_.nodes) free += IsFree(node, asker_.priority) ? 1 : 0;
    PassTrace* const trace = pass_.TraceOf(*asker_.job);
    if (free < spec_.nodes) {
      if (trace) {
        TellNoMove(trace, std::to_string(free) + " free in all zones, and a move makes no more of them: " +
                              std::to_string(spec_.nodes) + " needed");
      }
      return std::nullopt;
    }
    Gather();
    const std::int64_t permille = pass_.policy().move_gain_permille;
    std::size_t tried = 0;
    const auto tell = [&](std::uint32_t holder, const char* outcome) {
      if (trace) TellMove(trace, view_.attempts[holder], gain_gpu_ms, permille, outcome);
    };
    for (const auto& [preemption_cost, holder] : Options()) {
      *considered = true;
      const bool dear = preemption_cost * permille > gain_gpu_ms * 1000;
      if (dear || ++tried > kMovesTriedMax) {
        tell(holder, dear ? "too dear, and so are all behind it" : "no more are looked at in one turn");
        break;
      }
      auto move = Try(view_.attempts[holder]);
      tell(holder, move ? "it has room elsewhere" : "there is no room for both");
      if (move) return move;
    }
    if (trace && !*considered) TellNoMove(trace, "no job past its quantum makes a zone large enough by leaving");
    return std::nullopt;
  }

 private:
  bool MayBeMoved(const PassAttempt& a) const {
    const bool lower = a.priority < asker_.priority;
    if (!a.steady || a.gone || a.spoken_for || a.borrowed || a.priority > asker_.priority) return false;
    return pass_.now() >= (lower ? a.min_run_until : a.quantum_until) && !a.save_due;
  }

  // The nodes that fit the asker: free ones, and those of each attempt that may be moved.
  void Gather() {
    std::vector<bool> movable(view_.attempts.size());
    for (std::size_t i = 0; i < movable.size(); ++i) movable[i] = MayBeMoved(view_.attempts[i]);
    const std::vector<ReservedFor> standing = pass_.ReservedStanding(*asker_.job);
    for (const std::uint32_t i : field_.ask->nodes) {
      const PassNode& node = view_.nodes[i];
      if (StandingAt(view_.reserved, standing, i) == ReservedFor::kClosed) continue;
      if (std::binary_search(left_out_.begin(), left_out_.end(), node.id)) continue;
      if (IsFree(node, asker_.priority)) {
        free_.push_back(CandidateOf(node, Tier::kFree, {}));
        ++free_in_[node.zone];
      } else if (node.holder != kNobody && movable[node.holder] && IsHeldBy(node, node.holder)) {
        held_[node.holder].push_back(CandidateOf(node, Tier::kVictim, view_.attempts[node.holder].id));
      }
    }
  }

  // (preemption cost, index of the attempt), the least first, of those that make a zone large enough or hold a link.
  std::vector<std::pair<std::int64_t, std::uint32_t>> Options() {
    std::vector<std::pair<std::int64_t, std::uint32_t>> options;
    for (const auto& [holder, nodes] : held_) {
      std::map<std::uint32_t, std::size_t> by_zone;
      for (const Candidate& c : nodes) ++by_zone[c.zone];
      const bool helps = crosses_ || std::any_of(by_zone.begin(), by_zone.end(), [&](const auto& zone) {
                           const auto free = free_in_.find(zone.first);
                           return (free == free_in_.end() ? 0 : free->second) + zone.second >= spec_.nodes;
                         });
      if (!helps) continue;
      options.emplace_back(pass_.WithPreemptionCost(spec_.pool, view_.attempts[holder].id).preemption_cost_gpu_ms,
                           holder);
    }
    std::sort(options.begin(), options.end());
    return options;
  }

  std::optional<Move> Try(const PassAttempt& moved) {
    const std::vector<Candidate>& held = held_.at(static_cast<std::uint32_t>(&moved - view_.attempts.data()));
    std::vector<Candidate> both = free_;
    both.insert(both.end(), held.begin(), held.end());
    for (const Zones& zones : Regions(moved)) {
      std::vector<Candidate> here;
      for (const Candidate& c : both) {
        if (c.zone == zones.first || c.zone == zones.second) here.push_back(c);
      }
      const auto may_cross = [](std::uint32_t, std::uint32_t) { return true; };
      std::vector<NodeId> nodes = Place(here, spec_.nodes, may_cross);
      std::vector<NodeId> ascending = nodes;
      std::sort(ascending.begin(), ascending.end());
      // It waits for a node of the moved one, and does not begin before that has left its link.
      const bool waits = std::any_of(held.begin(), held.end(), [&](const Candidate& c) {
        return std::binary_search(ascending.begin(), ascending.end(), c.node);
      });
      if (!waits) continue;
      std::optional<Zones> link;
      if (zones.first != zones.second) link = zones;
      const std::vector<NodeId> place = PlaceElsewhere(pass_, moved, ascending, link);
      if (place.empty()) continue;
      pass_.Keep(moved, place, pass_.now() + GraceOf(pass_.policy(), *moved.job->spec, moved.row->charged).grace);
      return Move{moved.id, std::move(nodes)};
    }
    return std::nullopt;
  }

  // Where the asker could go: each zone, then each pair of zones whose link is free without the moved one.
  std::vector<Zones> Regions(const PassAttempt& moved) const {
    std::vector<Zones> regions;
    const auto& zones = field_.ask->by_zone;
    for (const auto& [zone, fitting] : zones) regions.emplace_back(zone, zone);
    if (!crosses_) return regions;
    for (auto a = zones.begin(); a != zones.end(); ++a) {
      for (auto b = std::next(a); b != zones.end(); ++b) {
        if (pass_.LinkFree(a->first, b->first, {moved.id})) regions.emplace_back(a->first, b->first);
      }
    }
    return regions;
  }

  Pass& pass_;
  const Asker& asker_;
  const JobSpec& spec_;
  const PoolView& view_;
  const Field& field_;
  const std::vector<NodeId> left_out_;
  const bool crosses_;
  std::vector<Candidate> free_;
  std::map<std::uint32_t, std::size_t> free_in_;          // by zone
  std::map<std::uint32_t, std::vector<Candidate>> held_;  // by index of the attempt
};

}  // namespace

std::optional<Move> CheapestMove(Pass& pass, const Asker& asker, const Field& field, Duration quantum,
                                 bool* considered) {
  if (pass.policy().move_gain_permille == 0) {
    if (PassTrace* const trace = pass.TraceOf(*asker.job)) TellNoMove(trace, "move_gain is 0 in the policy");
    return std::nullopt;
  }
  const JobSpec& spec = *asker.job->spec;
  const std::int64_t gain = std::int64_t{spec.nodes} * spec.gpus_per_node * quantum.ms;
  std::vector<NodeId> left_out = LeftOutOf(*asker.job);
  if (!left_out.empty()) {
    if (auto move = Mover(pass, asker, field, std::move(left_out)).Find(gain, considered)) return move;
  }
  return Mover(pass, asker, field, {}).Find(gain, considered);
}

void KeepPlaces(Pass& pass) {
  for (const AttemptId id : pass.moving()) {
    const Attempt& attempt = *pass.state().FindAttempt(id);
    const PassAttempt& moved = pass.WithPreemptionCost(pass.state().FindJob(id.job)->spec->pool, id);
    std::vector<NodeId> left = LeftOutOf(*moved.job);
    if (attempt.open_agreement()->elsewhere) left = attempt.nodes;
    std::sort(left.begin(), left.end());
    std::vector<NodeId> place = PlaceElsewhere(pass, moved, left, {});
    if (place.empty() && !left.empty()) place = PlaceElsewhere(pass, moved, {}, {});
    pass.Keep(moved, place, std::max(attempt.open_agreement()->deadline, pass.now() + Milliseconds(1)));
  }
}

}  // namespace glim::core
