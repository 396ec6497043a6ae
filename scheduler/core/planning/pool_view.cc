#include "scheduler/core/planning/pool_view.h"

#include <algorithm>
#include <utility>

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

const PassNode* NodeIn(const PoolView& view, NodeId id) {
  const std::optional<std::size_t> at = view.layout ? view.layout->IndexOf(id) : std::nullopt;
  return at && *at < view.nodes.size() ? &view.nodes[*at] : nullptr;
}

PassNode* NodeIn(PoolView& view, NodeId id) { return const_cast<PassNode*>(NodeIn(std::as_const(view), id)); }

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

PoolViews::AskKey PoolViews::KeyOf(const Job& job, const PoolLayout* layout) const {
  const JobSpec& spec = *job.spec;
  AskKey key{spec.pool, {}, spec.placement.node, 0};
  if (!layout) return key;
  const std::vector<bool> give = ListsThatGive(*layout, spec);
  const std::vector<bool> take = RulesThatTake(*layout, state_.accounts(), job.user);
  key.kinds.reserve(layout->kinds.size());
  for (const NodeKind& kind : layout->kinds) {
    const bool fits = Fits(kind.labels, spec) && (give.empty() || give[kind.folders]);
    const bool open = take.empty() || take[kind.users];
    key.kinds.push_back(!fits ? Fit::kNo : open ? Fit::kOpen : Fit::kClosed);
  }
  key.zone_nodes_max = LargestZone(*layout, spec, take);
  return key;
}

void PoolViews::FillAsk(AskView& ask, const AskKey& key, const Job& job, const PoolView& view) const {
  const JobSpec& spec = *job.spec;
  const std::vector<bool> give = ListsThatGive(*view.layout, spec);
  const std::vector<bool> take = RulesThatTake(*view.layout, state_.accounts(), job.user);
  std::map<std::uint32_t, std::size_t> of_all;
  const auto add = [&](const PassNode& node) {
    const auto at = static_cast<std::uint32_t>(&node - view.nodes.data());
    if (!Fits(node.row->labels, spec) || !(give.empty() || give[view.layout->folders[at]])) return;
    ++of_all[node.zone];
    if (take.empty() || take[view.layout->users[at]]) {
      ask.nodes.push_back(at);
      ++ask.by_zone[node.zone];
    } else {
      ++ask.closed[view.layout->users[at]];
    }
  };
  if (key.node.empty()) {
    for (const PassNode& node : view.nodes) add(node);
  } else if (const auto named = state_.index().node_by_name.find(key.node);
             named != state_.index().node_by_name.end()) {
    if (const PassNode* node = NodeIn(view, named->second)) add(*node);
  }
  const auto by_name = ByName(ask.by_zone);
  ask.zone_nodes_max = key.zone_nodes_max;
  ask.most_in_zone = MostInOneZone(by_name);
  ask.most_over_link = MostOverALink(by_name, state_.accounts().links);
  if (ask.closed.empty()) return;
  ask.closed_words = ClosedInWords(*view.layout, ask.closed, state_.accounts());
  ask.all_in_zone = MostInOneZone(ByName(of_all));
  ask.all_over_link = MostOverALink(ByName(of_all), state_.accounts().links);
}

const AskView& PoolViews::AskOf(const Job& job) {
  if (last_asked_ == job.spec.get() && last_user_ == job.user) return *last_ask_;
  const PoolView& view = Of(job.spec->pool);
  const auto [it, fresh] = asks_.try_emplace(KeyOf(job, view.layout));
  last_asked_ = job.spec.get();
  last_user_ = job.user;
  last_ask_ = &it->second;
  if (fresh) it->second.number = static_cast<std::uint32_t>(asks_.size());
  if (fresh && view.layout) FillAsk(it->second, it->first, job, view);
  return it->second;
}

}  // namespace glim::core
