#include "scheduler/core/planning/trace_words.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "scheduler/core/planning/victims.h"
#include "sdk/base/gpu_time_text.h"

namespace glim::core {
namespace {

constexpr std::size_t kJobsSaid = 5;
constexpr std::size_t kHoldersTold = 60;

std::string NodesInWords(std::size_t n) { return std::to_string(n) + (n == 1 ? " node" : " nodes"); }
std::string SecondsInWords(Duration time) {
  return std::to_string((std::max<std::int64_t>(0, time.ms) + 999) / 1000) + " s";
}

template <typename Ids, typename Number>
std::string JobsInWords(const Ids& ids, const Number& number) {
  std::string text = ids.size() == 1 ? "job " : "jobs ";
  std::size_t said = 0;
  for (const auto& id : ids) {
    if (said == kJobsSaid) return text + " and " + std::to_string(ids.size() - said) + " more";
    text += (said++ ? ", " : "") + std::to_string(number(id));
  }
  return text;
}
std::string JobsByAttempt(const std::vector<AttemptId>& ids) {
  return JobsInWords(ids, [](AttemptId id) { return id.job.value; });
}

std::vector<JobId> JobIdsOf(const std::vector<AttemptId>& ids) {
  std::vector<JobId> jobs;
  for (const AttemptId id : ids) jobs.push_back(id.job);
  return jobs;
}

std::string ZonesInWords(const Pass& pass, const std::vector<std::uint32_t>& zones) {
  std::string text = zones.size() == 1 ? "zone " : "zones ";
  for (std::size_t i = 0; i < zones.size(); ++i) text += (i ? " and " : "") + pass.ZoneName(zones[i]);
  return text;
}

std::string ClassInWords(const PassAttempt& a) {
  return std::string(ToString(a.priority)) + (a.borrowed ? ", beyond its quota" : "");
}

// Of the recipe's terms, the first that keeps it where it is.
std::string WhyItStays(const PassAttempt& holder, const Asker& asker, const std::optional<TimePoint>& from,
                       TimePoint now) {
  if (!asker.may_interrupt) return "what is beyond a quota interrupts nobody";
  if (holder.gone) return "it makes room for a job that came before in this pass";
  if (holder.spoken_for) return "a job that came before in this pass waits for it";
  if (holder.row->state == AttemptState::kClaimed) return "it waits for its nodes, and is not of a lower class";
  if (!holder.steady) return "it is leaving already, and comes first on its nodes";
  if (from) {
    const std::string left = "it makes room in " + SecondsInWords(*from - now);
    if (holder.save_due == *from) return left + ": it is let finish its periodic save";
    if (holder.quantum_until == *from) return left + ": its quantum is not over";
    return left + ": its min_run is not over";
  }
  if (holder.priority > asker.priority) return "it is of a higher class";
  return "it is of the same class, and no less urgent by preempt_gain";
}

// By zone: what the asker could get there.
struct ZoneTally {
  std::array<std::size_t, 4> tiers{};  // by Tier
  std::size_t left_out = 0, later = 0;
  std::vector<NodeId> nodes;
};

std::map<std::uint32_t, ZoneTally> TallyOf(const Field& field) {
  std::map<std::uint32_t, ZoneTally> zones;
  for (const Candidate& c : field.candidates) {
    ZoneTally& zone = zones[c.zone];
    ++zone.tiers[static_cast<std::size_t>(c.tier)];
    zone.left_out += c.left_out ? 1 : 0;
    if (c.tier == Tier::kFree) zone.nodes.push_back(c.node);
  }
  for (const auto& [until, c] : field.later) ++zones[c.zone].later;
  return zones;
}

std::size_t CountOf(const ZoneTally& zone, Tier tier) { return zone.tiers[static_cast<std::size_t>(tier)]; }

void TellHolders(PassTrace* trace, Pass& pass, const Asker& asker, const Field& field) {
  PoolView& view = pass.PoolOf(asker.job->spec->pool);
  std::map<std::uint32_t, std::vector<NodeId>> held;  // by index of the attempt
  for (const std::uint32_t i : field.ask->nodes) {
    const PassNode& node = view.nodes[i];
    const std::uint32_t owner = node.claimant != kNobody ? node.claimant : node.holder;
    if (node.usable && !node.taken && owner != kNobody) held[owner].push_back(node.id);
  }
  std::size_t told = 0;
  for (const auto& [index, nodes] : held) {
    const PassAttempt& holder = view.attempts[index];
    const auto from = pass.GivesWayFrom(holder.id, asker);
    const bool gives = from && !*from;
    const bool emptying = !holder.steady && holder.row->state != AttemptState::kClaimed;
    if (gives || (emptying && std::any_of(field.candidates.begin(), field.candidates.end(),
                                          [&](const Candidate& c) { return c.holder == holder.id; }))) {
      continue;  // told where its zone is
    }
    if (++told > kHoldersTold) continue;
    trace->Add(TraceStage::kPreemption,
               "job " + std::to_string(holder.id.job.value) + " (" + ClassInWords(holder) + ", " +
                   NodesInWords(nodes.size()) + " that fit) keeps them: " + WhyItStays(holder, asker, from, pass.now()),
               nodes, {holder.id.job});
  }
  if (told > kHoldersTold) {
    trace->Add(TraceStage::kPreemption, std::to_string(told - kHoldersTold) + " more jobs keep nodes that fit");
  }
}

}  // namespace

void TellTurn(PassTrace* trace, const Asker& asker, std::size_t turn, const std::vector<PlannedStart>& started) {
  if (!trace) return;
  std::string text = "turn " + std::to_string(turn) + " of this pass, in class " + ToString(asker.priority);
  if (asker.starved) text += ", in front of its class: it has waited longer than starvation_bound";
  if (asker.swap_aborted) text += ", early in its class: it left for a job that went away";
  text += "; its team's share " + std::to_string(asker.urgency.share) + ", score " +
          std::to_string(asker.urgency.score) + " (lower comes first)";
  std::vector<JobId> jobs;
  for (const PlannedStart& start : started) jobs.push_back(start.job);
  if (jobs.empty()) {
    text += "; nobody started before it in this pass";
  } else {
    text += "; before it in this pass started " + JobsInWords(jobs, [](JobId id) { return id.value; });
  }
  if (asker.job->id != trace->job()) {
    text += "; job " + std::to_string(asker.job->id.value) +
            " is asked for all jobs of this shape, for they share one verdict";
    jobs.insert(jobs.begin(), asker.job->id);
  }
  trace->Add(TraceStage::kOrder, std::move(text), {}, std::move(jobs));
}

void TellQuota(PassTrace* trace, const Pass& pass, const Job& job) {
  if (!trace) return;
  const QuotaTurn turn = pass.quota().TurnOf(job);
  const QuotaUse::Left left = pass.quota().LeftFor(job, turn.charged);
  std::string text = "it counts in class " + std::string(ToString(turn.charged)) + ": ";
  if (left.nodes == kUnlimited) {
    text += "no quota bounds it";
  } else {
    text += "the quota of " + left.of + " at " + ToString(left.at) + " has " + NodesInWords(left.nodes) + " of " +
            std::to_string(left.of_nodes) + " left, and it needs " + std::to_string(job.spec->nodes);
  }
  if (turn.standing == QuotaStanding::kBorrows) text += ": it may only borrow, behind all of class low";
  if (turn.standing == QuotaStanding::kNotAllowed) text += ": it has no turn";
  trace->Add(TraceStage::kQuota, std::move(text));
}

void TellField(PassTrace* trace, Pass& pass, const Asker& asker, const Field& field) {
  if (!trace) return;
  const std::uint32_t wanted = asker.job->spec->nodes;
  const auto tallies = TallyOf(field);
  for (const auto& [zone, fitting] : field.ask->by_zone) {
    const auto found = tallies.find(zone);
    const ZoneTally tally = found == tallies.end() ? ZoneTally() : found->second;
    const std::size_t free = CountOf(tally, Tier::kFree), emptying = CountOf(tally, Tier::kEmptying);
    std::string text =
        "zone " + pass.ZoneName(zone) + ": " + NodesInWords(fitting) + " fit, " + std::to_string(free) + " free";
    if (emptying > 0) text += ", " + std::to_string(emptying) + " being emptied";
    if (const std::size_t n = CountOf(tally, Tier::kDisplaced))
      text += ", " + std::to_string(n) + " claimed by lower classes";
    if (const std::size_t n = CountOf(tally, Tier::kVictim))
      text += ", " + std::to_string(n) + " of jobs that make room now";
    if (tally.later > 0) text += ", " + std::to_string(tally.later) + " of jobs that make room later";
    if (tally.left_out > 0)
      text += " (" + std::to_string(tally.left_out) + " of these suspect or unreliable, taken last)";
    text += "; " + std::to_string(wanted) + " needed: ";
    if (free + emptying >= wanted) {
      text += "enough without an interrupt";
    } else if (fitting < wanted) {
      text += "the zone is too small for it";
    } else {
      text += std::to_string(wanted - free - emptying) + " short without an interrupt";
    }
    trace->Add(TraceStage::kPlacement, std::move(text), tally.nodes);
  }
  if (field.out.all > 0) {
    trace->Add(TraceStage::kPlacement, NodesInWords(field.out.all) + " that fit take no job: " + OutInWords(field.out));
  }
  if (field.held_back > 0) {
    trace->Add(TraceStage::kPlacement,
               NodesInWords(field.held_back) + " that are free are kept for a job that comes before it");
  }
  TellHolders(trace, pass, asker, field);
}

void TellPlaced(PassTrace* trace, const Pass& pass, const std::vector<NodeId>& nodes) {
  if (!trace) return;
  std::set<std::string> zones, leaves;
  for (const NodeId id : nodes) {
    const NodeLabels& labels = pass.state().FindNode(id)->labels;
    zones.insert(labels.zone);
    leaves.insert(labels.zone + "/" + labels.leaf);
  }
  std::string text = NodesInWords(nodes.size()) + " without an interrupt: ";
  text += leaves.size() == 1 ? "one leaf" : std::to_string(leaves.size()) + " leaves";
  for (const std::string& zone : zones) text += (zone == *zones.begin() ? " of zone " : " and ") + zone;
  trace->Add(TraceStage::kPlacement, std::move(text), nodes);
}

void TellLinks(PassTrace* trace, const Pass& pass, const JobSpec& spec, const Field& field) {
  if (!trace) return;
  const auto& zones = field.ask->by_zone;
  if (zones.size() < 2) return;
  if (!field.ask->MayCross(spec, pass.policy())) {
    trace->Add(TraceStage::kCrossing, "it may not span two zones: it has fewer than cross_zone_nodes_min (" +
                                          std::to_string(pass.policy().cross_zone_nodes_min) +
                                          ") nodes, and a zone is large enough for it");
    return;
  }
  for (auto a = zones.begin(); a != zones.end(); ++a) {
    for (auto b = std::next(a); b != zones.end(); ++b) {
      const LinkUse use = pass.LinkUseOf(a->first, b->first, {});
      std::string text = "the link " + pass.ZoneName(a->first) + "-" + pass.ZoneName(b->first) + ": ";
      if (use.jobs_max == 0) {
        text += "the policy lets no job cross it";
      } else if (use.Free()) {
        text += "free for one more (" + std::to_string(use.holders.size() + use.planned) + " of " +
                std::to_string(use.jobs_max) + " taken)";
      } else {
        text += "taken";
        if (!use.holders.empty()) text += " by " + JobsByAttempt(use.holders);
        if (use.planned > 0)
          text += std::string(use.holders.empty() ? "" : " and") + " by what came before in this pass";
      }
      text += "; " + NodesInWords(a->second + b->second) + " fit on both sides";
      trace->Add(TraceStage::kCrossing, std::move(text), {}, JobIdsOf(use.holders));
    }
  }
}

void TellPreemption(PassTrace* trace, Pass& pass, const Asker& asker, const Field& field,
                    const std::vector<std::uint32_t>& zones, const std::optional<GangPreemption>& preemption) {
  if (!trace) return;
  const JobSpec& spec = *asker.job->spec;
  std::size_t here = 0, without = 0;
  std::map<AttemptId, std::size_t> options;  // with their nodes
  for (const Candidate& c : field.candidates) {
    if (std::find(zones.begin(), zones.end(), c.zone) == zones.end()) continue;
    ++here;
    if (c.tier != Tier::kVictim) {
      ++without;
    } else {
      ++options[c.holder];
    }
  }
  std::string text = ZonesInWords(pass, zones) + ": ";
  std::vector<JobId> jobs;
  if (!preemption) {
    if (here < spec.nodes) {
      text +=
          NodesInWords(here) + " with everybody interrupted who makes room, " + std::to_string(spec.nodes) + " needed";
    } else {
      text += "the nodes would do, but the link between them cannot be had: who has it does not make room";
    }
    for (const auto& [id, nodes] : options) jobs.push_back(id.job);
    trace->Add(TraceStage::kPreemption, std::move(text), {}, std::move(jobs));
    return;
  }
  text += "would do with " + std::to_string(preemption->choice.victims.size()) + " interrupted";
  for (std::size_t i = 0; i < preemption->choice.victims.size(); ++i) {
    const AttemptId id = preemption->choice.victims[i];
    const PassAttempt& victim = pass.WithPreemptionCost(spec.pool, id);
    jobs.push_back(id.job);
    if (i >= kJobsSaid) continue;
    text += (i ? "; job " : ": job ") + std::to_string(id.job.value) + " (" + ClassInWords(victim) + ", " +
            NodesInWords(victim.nodes) + ", " + GpuTimeText(victim.preemption_cost_gpu_ms) + ")";
  }
  if (!preemption->displaced.empty()) text += "; takes the claims of " + JobsByAttempt(preemption->displaced);
  if (preemption->for_link) text += "; some of them for the link";
  text += "; preemption cost " + GpuTimeText(preemption->choice.preemption_cost_gpu_ms) + ", " +
          std::to_string(without) + " of the nodes without an interrupt";
  std::vector<std::pair<std::int64_t, JobId>> spared;
  for (const auto& [id, nodes] : options) {
    if (std::find(jobs.begin(), jobs.end(), id.job) != jobs.end()) continue;
    spared.emplace_back(pass.WithPreemptionCost(spec.pool, id).preemption_cost_gpu_ms, id.job);
  }
  std::sort(spared.begin(), spared.end());
  for (std::size_t i = 0; i < std::min(spared.size(), kJobsSaid); ++i) {
    text += (i ? ", " : "; not needed, or dearer: ") + ("job " + std::to_string(spared[i].second.value)) + " (" +
            GpuTimeText(spared[i].first) + ")";
  }
  trace->Add(TraceStage::kPreemption, std::move(text), preemption->nodes, std::move(jobs));
}

void TellChosen(PassTrace* trace, const GangPreemption& preemption) {
  if (!trace) return;
  trace->Add(TraceStage::kPreemption,
             "the cheapest of these: the lowest classes, then the least preemption cost (" +
                 GpuTimeText(preemption.choice.preemption_cost_gpu_ms) + "), then the fewest jobs",
             preemption.nodes, JobIdsOf(preemption.choice.victims));
}

void TellNoMove(PassTrace* trace, const std::string& why) { trace->Add(TraceStage::kMove, "nobody is moved: " + why); }

void TellMove(PassTrace* trace, const PassAttempt& moved, std::int64_t gain_gpu_ms, std::int64_t permille,
              const std::string& outcome) {
  trace->Add(TraceStage::kMove,
             "move job " + std::to_string(moved.id.job.value) + " (" + ClassInWords(moved) + ", " +
                 NodesInWords(moved.nodes) + "): costs " + GpuTimeText(moved.preemption_cost_gpu_ms) + ", at most " +
                 GpuTimeText(permille > 0 ? gain_gpu_ms * 1000 / permille : 0) + " is worth it; " + outcome,
             {}, {moved.id.job});
}

void TellNoHold(PassTrace* trace, std::string_view why) {
  if (!trace) return;
  trace->Add(TraceStage::kHold, "nothing is kept for it: " + std::string(why));
}

void TellNoHoldYet(PassTrace* trace, const Pass& pass, const Asker& asker) {
  if (!trace) return;
  const Duration after = asker.job->queued_at + pass.policy().backfill_hold_after - pass.now();
  trace->Add(TraceStage::kHold,
             "nothing is kept for it yet: it has waited for less than backfill_hold_after, which is "
             "over in " +
                 SecondsInWords(after));
}

void TellHold(PassTrace* trace, const Pass& pass, const std::optional<TimePoint>& from,
              const std::vector<NodeId>& nodes) {
  if (!trace) return;
  if (!from) {
    return trace->Add(TraceStage::kHold, "nothing is kept for it: nobody can tell when enough nodes come free for it");
  }
  trace->Add(TraceStage::kHold,
             NodesInWords(nodes.size()) + " are kept for it, which it can have in " +
                 SecondsInWords(*from - pass.now()) +
                 ": of those that come later only who is gone by then may use them",
             nodes);
}

void TellStart(PassTrace* trace, const ClusterState& state, const PlannedStart& start) {
  if (!trace) return;
  std::string text = "job " + std::to_string(start.job.value) + " starts on " + NodesInWords(start.nodes.size()) +
                     " in class " + ToString(start.charged) + (start.borrowed ? ", borrowed" : "");
  std::vector<JobId> jobs = JobIdsOf(start.victims);
  if (!start.victims.empty()) {
    text += (start.moved ? ", when moved has " : ", when interrupted has ") + JobsByAttempt(start.victims);
  }
  std::set<JobId> awaited;
  for (const NodeId id : start.nodes) {
    const AttemptId holder = state.FindNode(id)->holder;
    if (holder && std::find(jobs.begin(), jobs.end(), holder.job) == jobs.end()) awaited.insert(holder.job);
  }
  if (!awaited.empty()) text += ", as soon as has left " + JobsInWords(awaited, [](JobId id) { return id.value; });
  jobs.insert(jobs.end(), awaited.begin(), awaited.end());
  trace->Add(TraceStage::kVerdict, std::move(text), start.nodes, std::move(jobs));
}

void TellBlockers(PassTrace* trace, const std::vector<Blocker>& blockers) {
  if (!trace) return;
  for (const Blocker& blocker : blockers) {
    trace->Add(TraceStage::kVerdict, std::string("waits, ") + ToString(blocker.kind) + ": " + blocker.message, {},
               blocker.jobs);
  }
}

}  // namespace glim::core
