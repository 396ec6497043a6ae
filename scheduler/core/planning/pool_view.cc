#include "scheduler/core/planning/pool_view.h"

#include <algorithm>

#include "scheduler/core/model/allowed_paths.h"
#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/planning/victims.h"

namespace glim::core {

PoolViews::PoolViews(const ClusterState& state, const Policy& policy, TimePoint now, const QuotaUse& quota,
                     const Urgencies& urgencies, const Reserved& reserved)
    : state_(state), policy_(policy), now_(now), quota_(quota), urgencies_(urgencies), reserved_(reserved) {}

bool AskView::MayCross(const JobSpec& spec, const Policy& policy) const {
  return core::MayCross(spec, policy, zone_nodes_max);
}

std::size_t AskView::Largest(const JobSpec& spec, const Policy& policy) const {
  return MayCross(spec, policy) ? std::max(most_in_zone, most_over_link) : most_in_zone;
}

bool AskView::IsClosedTo(const JobSpec& spec, const Policy& policy) const {
  if (closed.empty() || Largest(spec, policy) >= spec.nodes) return false;
  return (MayCross(spec, policy) ? std::max(all_in_zone, all_over_link) : all_in_zone) >= spec.nodes;
}

PassAttempt& AttemptIn(PoolView& view, AttemptId id) {
  return *std::lower_bound(view.attempts.begin(), view.attempts.end(), id,
                           [](const PassAttempt& a, AttemptId wanted) { return a.id < wanted; });
}

PassNode* NodeIn(PoolView& view, NodeId id) {
  const std::optional<std::size_t> at = view.layout ? view.layout->IndexOf(id) : std::nullopt;
  return at && *at < view.nodes.size() ? &view.nodes[*at] : nullptr;
}

PoolView& PoolViews::Of(const std::string& pool) {
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
  AddReservations(view);
  return view;
}

void PoolViews::AddAttempts(const std::string& pool, PoolView& view) const {
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
    a.priority = a.borrowed && !Planted(PlantedBug::kBorrowedKeepsItsClass) ? PriorityClass::kLow : a.row->charged;
    const bool begun = a.row->state == AttemptState::kStarting || a.row->state == AttemptState::kRunning;
    a.steady = begun && a.row->stop == StopCause::kNone && !a.row->open_agreement();
    if (!a.steady) continue;
    a.min_run_until = ProtectedUntil(state_, policy_, *a.row, a.borrowed);
    a.quantum_until = std::max(a.min_run_until, a.row->started_at + a.row->quantum);
    a.save_due = SaveDue(state_, policy_, *a.row, now_);
    a.urgency = urgencies_.OfRunning(*a.job, *a.row);
    view.least_urgent_first.push_back(static_cast<std::uint32_t>(view.attempts.size() - 1));
  }
  std::sort(view.least_urgent_first.begin(), view.least_urgent_first.end(),
            [&](std::uint32_t a, std::uint32_t b) { return view.attempts[a].urgency > view.attempts[b].urgency; });
}

void PoolViews::AddNodes(PoolView& view) const {
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
      PassNode* node = NodeIn(view, id);
      if (!node) continue;  // relabelled since: it is in another pool
      if (node->row->holder == attempt.id) node->holder = i;
      if (node->row->claim == attempt.id) node->claimant = i;
    }
  }
  // Who has it is not of this pool: it can be had when it is released.
  for (PassNode& node : view.nodes) {
    const bool unknown_holder = node.row->holder && node.holder == kNobody;
    const bool unknown_claimant = node.row->claim && node.claimant == kNobody;
    if (unknown_holder || unknown_claimant) node.usable = false;
  }
}

void PoolViews::AddReservations(PoolView& view) const {
  if (Planted(PlantedBug::kReservationForgotten)) return;
  for (const PassReservation& one : reserved_.all()) {
    bool here = false;
    for (const NodeId id : one.nodes) {
      const PassNode* node = NodeIn(view, id);
      if (!node) continue;
      if (!here) view.reservations.push_back(one.row);
      here = true;
      if (view.reserved.empty()) view.reserved.resize(view.nodes.size());
      const auto at = static_cast<std::size_t>(node - view.nodes.data());
      view.reserved[at].push_back(static_cast<std::uint32_t>(view.reservations.size() - 1));
    }
  }
}

// While a new leader has not heard all nodes, those that it will hear in a moment are not missing.
void PoolViews::WaitForTheSilent(PoolView& view) const {
  const TimePoint settled = state_.leader_since + policy_.node_lost_after;
  const bool silent = std::any_of(view.nodes.begin(), view.nodes.end(),
                                  [](const PassNode& node) { return node.row->state == NodeState::kSilent; });
  if (!silent || !state_.leader_since || now_ >= settled) return;
  for (PassAttempt& a : view.attempts) a.quantum_until = std::max(a.quantum_until, settled);
}

std::map<std::string, std::size_t> PoolViews::ByName(const std::map<std::uint32_t, std::size_t>& by_zone) const {
  std::map<std::string, std::size_t> by_name;
  for (const auto& [zone, nodes] : by_zone) by_name[state_.layouts().zone_names[zone]] = nodes;
  return by_name;
}

const AskView& PoolViews::AskOf(const Job& job) {
  const JobSpec& spec = *job.spec;
  if (last_asked_ == &spec && last_user_ == job.user) return *last_ask_;
  const PoolView& view = Of(spec.pool);
  const std::vector<bool> give = view.layout ? ListsThatGive(*view.layout, spec) : std::vector<bool>();
  const std::vector<bool> take =
      view.layout ? RulesThatTake(*view.layout, state_.accounts(), job.user) : std::vector<bool>();
  const auto [it, fresh] = asks_.try_emplace({spec.pool, spec.gpus_per_node, spec.placement, give, take});
  AskView& ask = it->second;
  last_asked_ = &spec;
  last_user_ = job.user;
  last_ask_ = &ask;
  if (!fresh) return ask;
  ask.number = static_cast<std::uint32_t>(asks_.size());
  std::map<std::uint32_t, std::size_t> of_all;
  for (std::uint32_t i = 0; i < view.nodes.size(); ++i) {
    const Node& node = *view.nodes[i].row;
    if (!IsMeant(node.name, spec) || !Fits(node.labels, spec)) continue;
    if (!give.empty() && !give[view.layout->folders[i]]) continue;
    ++of_all[view.nodes[i].zone];
    if (take.empty() || take[view.layout->users[i]]) {
      ask.nodes.push_back(i);
      ++ask.by_zone[view.nodes[i].zone];
    } else {
      ++ask.closed[view.layout->users[i]];
    }
  }
  const auto by_name = ByName(ask.by_zone);
  ask.zone_nodes_max = view.layout ? LargestZone(*view.layout, spec, take) : 0;
  ask.most_in_zone = MostInOneZone(by_name);
  ask.most_over_link = MostOverALink(by_name, state_.accounts().links);
  if (ask.closed.empty()) return ask;
  ask.closed_words = ClosedInWords(*view.layout, ask.closed, state_.accounts());
  ask.all_in_zone = MostInOneZone(ByName(of_all));
  ask.all_over_link = MostOverALink(ByName(of_all), state_.accounts().links);
  return ask;
}

}  // namespace glim::core
