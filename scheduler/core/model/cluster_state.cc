#include "scheduler/core/model/cluster_state.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "scheduler/core/model/spec_bytes.h"
#include "scheduler/core/model/time_limit.h"
#include "sdk/base/check.h"

namespace glim::core {
namespace {

template <typename Map, typename Key, typename Value>
void AddTo(Map& map, const Key& key, const Value& value, bool add) {
  if (add) {
    map[key].insert(value);
    return;
  }
  const auto it = map.find(key);
  if (it == map.end()) return;
  it->second.erase(value);
  if (it->second.empty()) map.erase(it);
}

template <typename Set, typename Value>
void AddTo(Set& set, const Value& value, bool add) {
  if (add) {
    set.insert(value);
  } else {
    set.erase(value);
  }
}

// Who has one of the job's saves: they are looked at when such a node's state changes.
std::set<NodeId> SavedOn(const Job& job) {
  std::set<NodeId> nodes;
  const auto add = [&](const Checkpoint& save) {
    nodes.insert(save.parts.begin(), save.parts.end());
    nodes.insert(save.copies.begin(), save.copies.end());
  };
  add(job.durable);
  for (const Checkpoint& save : job.older) add(save);
  return nodes;
}

// Does the index tell these apart? Most writes of a row change what it does not look at.
bool IndexedAlike(const Job& a, const Job& b) {
  return a.state == b.state && a.not_before == b.not_before && a.queued_at == b.queued_at && a.service == b.service &&
         a.swap_aborted == b.swap_aborted && a.ended_at == b.ended_at && a.waits_for == b.waits_for &&
         a.spec == b.spec && a.waits_for_save == b.waits_for_save && a.save_in_memory == b.save_in_memory &&
         a.quantum_doublings == b.quantum_doublings && a.hung_on == b.hung_on && a.moved_off == b.moved_off &&
         DearSaveOf(a) == DearSaveOf(b) && SavedOn(a) == SavedOn(b) && a.user == b.user && a.team == b.team &&
         a.request_id == b.request_id && TaleBytes(a) == TaleBytes(b);
}

// What the pool's means are made of.
bool SavesAlike(const Job& a, const Job& b) {
  return a.saves_asked == b.saves_asked && a.saves_done == b.saves_done && a.save_cost == b.save_cost &&
         a.leaves == b.leaves && a.leave_time == b.leave_time;
}

bool IndexedAlike(const Attempt& a, const Attempt& b) {
  const Agreement *x = a.open_agreement(), *y = b.open_agreement();
  const bool agreements_alike = x && y ? x->time_limit == y->time_limit : x == y;
  return a.state == b.state && a.started_at == b.started_at && a.ended_at == b.ended_at && a.stop == b.stop &&
         agreements_alike && a.nodes.size() == b.nodes.size() && a.replicas == b.replicas;
}

bool IndexedAlike(const Node& a, const Node& b) {
  return IsFree(a) == IsFree(b) && a.claim == b.claim && a.root_marker == b.root_marker &&
         a.labels.pool == b.labels.pool && a.name == b.name && TakesReplicas(a) == TakesReplicas(b) &&
         a.labels.zone == b.labels.zone && a.labels.leaf == b.labels.leaf && a.cordon == b.cordon &&
         a.lemon == b.lemon && a.validation == b.validation && MayBeMeasured(a) == MayBeMeasured(b) &&
         JobsLeftOn(a) == JobsLeftOn(b);
}

}  // namespace

Agreement* Attempt::open_agreement() { return const_cast<Agreement*>(std::as_const(*this).open_agreement()); }

const Agreement* Attempt::open_agreement() const {
  if (agreements.empty()) return nullptr;
  const Agreement& last = agreements.back();
  return last.state == AgreementState::kWithdrawn || last.state == AgreementState::kEnded ? nullptr : &last;
}

DearSave DearSaveOf(const Job& job) {
  const Checkpoint& save = job.durable;
  const bool dear =
      job.spec->nodes == 1 && save.parts.size() == 1 && save.copies.empty() && save.bytes >= kDearSaveBytes;
  if (!dear) return {};
  return {save.parts.front(), static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(save.bytes)))};
}

std::vector<NodeId> LeftOutOf(const Job& job) {
  std::vector<NodeId> nodes;
  std::set_union(job.hung_on.begin(), job.hung_on.end(), job.moved_off.begin(), job.moved_off.end(),
                 std::back_inserter(nodes));
  return nodes;
}

Shape ShapeOf(const Job& job) {
  const JobSpec& spec = *job.spec;
  return {spec.pool,
          spec.priority,
          job.user,
          job.team,
          spec.nodes,
          spec.gpus_per_node,
          spec.placement,
          LimitClass(spec.time_limit),
          ServiceBucket(job.service),
          DearSaveOf(job),
          LeftOutOf(job)};
}

Kind KindOf(const Shape& shape) { return {shape.user, shape.nodes, shape.time_limit}; }
Kind KindOf(const Job& job) { return {job.user, job.spec->nodes, LimitClass(job.spec->time_limit)}; }

Duration ServiceOf(const Job& job, const Attempt* live, TimePoint now) {
  return live && live->started_at ? job.service + (now - live->started_at) : job.service;
}

QueueKey QueueKeyOf(const Job& job) { return {!job.swap_aborted, job.submitted_at, job.id}; }

bool IsFree(const Node& node) { return IsUsable(node) && !node.holder && !node.claim; }

bool TakesReplicas(const Node& node) {
  return node.state == NodeState::kReady && !node.replica.empty() && !node.cordon;
}

const Layouts& ClusterState::layouts() const {
  if (!layouts_) {
    std::vector<const Node*> nodes;
    tables_.nodes.ForEach([&](NodeId, const Node& row) { nodes.push_back(&row); });
    layouts_ = std::make_shared<const Layouts>(MakeLayouts(nodes));
  }
  return *layouts_;
}

const Attempt* ClusterState::LiveAttempt(const Job& job) const {
  const Attempt* attempt = FindAttempt({job.id, job.attempts});
  return attempt && attempt->state != AttemptState::kEnded ? attempt : nullptr;
}

void ClusterState::IndexJob(const Job& row, bool add) {
  if (row.state == JobState::kQueued) {
    if (row.not_before) {
      AddTo(index_.delayed, std::pair(row.not_before, row.id), add);
    } else if (row.waits_for.empty() && !row.waits_for_save) {
      const Shape shape = ShapeOf(row);
      AddTo(index_.queue, shape, QueueKeyOf(row), add);
      AddTo(index_.waiting, shape, std::pair(row.queued_at, row.id), add);
    }
  }
  if (!row.request_id.empty()) AddTo(index_.requests, std::pair(row.user, row.request_id), row.id, add);
  index_.kept.Count(row, add);
  if (IsTerminal(row.state)) return;
  if (row.waits_for_save || row.save_in_memory) AddTo(index_.save_watch, row.id, add);
  if (row.quantum_doublings > 0) AddTo(index_.doubled, row.id, add);
  for (const NodeId node : SavedOn(row)) AddTo(index_.saved_on, node, row.id, add);
  for (const Dependency& dependency : row.waits_for) AddTo(index_.dependants, dependency.job, row.id, add);
}

void ClusterState::IndexAttempt(const Attempt& row, bool add) {
  const Job* job = FindJob(row.id.job);
  GLIM_CHECK(job, "attempt " + ToString(row.id) + " without a job");
  for (const NodeId node : row.replicas) {
    if (node) AddTo(index_.replicas_on, node, row.id, add);
  }
  if (row.state == AttemptState::kEnded) return;
  AddTo(index_.live, job->spec->pool, row.id, add);
  if (const TimePoint at = LimitAt(*job, row)) AddTo(index_.limits, std::pair(at, row.id), add);
  if (row.state != AttemptState::kRunning || row.open_agreement()) AddTo(index_.attention, row.id, add);
  CountCopies(row, add);
}

void ClusterState::CountCopies(const Attempt& row, bool add) {
  for (const NodeId node : row.replicas) {
    if (!node) continue;
    std::uint32_t& copies = index_.replica_copies[node];
    copies += add ? 1 : -1u;
    if (copies == 0) index_.replica_copies.erase(node);
  }
}

void ClusterState::IndexNode(const Node& row, bool add) {
  AddTo(index_.nodes_by_pool, row.labels.pool, row.id, add);
  if (IsFree(row)) AddTo(index_.free_nodes, row.labels.pool, row.id, add);
  if (row.claim) AddTo(index_.claims, row.claim, row.id, add);
  if (!row.root_marker.empty()) AddTo(index_.root_markers, row.root_marker, row.id, add);
  if (TakesReplicas(row)) AddTo(index_.replica_services, std::pair(row.labels.zone, row.labels.leaf), row.id, add);
  if (row.cordon && row.cordon->drain && !row.cordon->drained) AddTo(index_.draining, row.id, add);
  if (row.cordon && row.cordon->until) AddTo(index_.cordon_ends, std::pair(row.cordon->until, row.id), add);
  if (row.lemon) AddTo(index_.lemons, row.id, add);
  for (const JobId job : JobsLeftOn(row)) AddTo(index_.orphans, job, row.id, add);
  IndexValidation(row, add);
  if (add) {
    index_.node_by_name[row.name] = row.id;
  } else {
    index_.node_by_name.erase(row.name);
  }
}

void ClusterState::ListJob(const Job* old, const std::shared_ptr<const Job>& row) {
  if (old) {
    const JobPlace was = PlaceOf(*old);
    if (!row || was != PlaceOf(*row) || old->user != row->user) {
      tables_.listed.Erase(was);
      tables_.listed_by_user.Erase({old->user, was});
    }
    index_.counts.Count(*old, false);
  }
  if (!row) return;
  const JobPlace place = PlaceOf(*row);
  tables_.listed.Put(place, row);
  tables_.listed_by_user.Put({row->user, place}, row);
  index_.counts.Count(*row, true);
}

namespace {

// Bounds within which the sums of a million jobs fit, whatever a row says.
std::int64_t Counted(std::uint32_t times) { return std::min<std::int64_t>(times, 100'000); }
std::int64_t Counted(Duration time) { return std::clamp<std::int64_t>(time.ms, 0, Hours(24).ms); }

}  // namespace

void ClusterState::CountSaves(const Job& row, bool add) {
  if (row.saves_asked == 0) return;
  PoolSaves& pool = index_.saves[row.spec->pool];
  const std::int64_t sign = add ? 1 : -1;
  pool.asked += sign * Counted(row.saves_asked);
  pool.done += sign * Counted(row.saves_done);
  pool.save_ms += sign * Counted(row.save_cost) * Counted(row.saves_done);
  pool.leaves += sign * Counted(row.leaves);
  pool.leave_ms += sign * Counted(row.leave_time) * Counted(row.leaves);
  if (pool == PoolSaves()) index_.saves.erase(row.spec->pool);
}

void ClusterState::CountInterval(const Attempt& row, bool add) {
  if (row.save_interval.ms == 0 || row.state == AttemptState::kEnded) return;
  const std::string& name = FindJob(row.id.job)->spec->pool;
  PoolSaves& pool = index_.saves[name];
  pool.intervals += add ? 1 : -1;
  pool.interval_ms += add ? Counted(row.save_interval) : -Counted(row.save_interval);
  if (pool == PoolSaves()) index_.saves.erase(name);
}

std::shared_ptr<const Job> ClusterState::Put(Job row) {
  const Job* old = FindJob(row.id);
  if (!old || !SavesAlike(*old, row)) {
    if (old) CountSaves(*old, false);
    CountSaves(row, true);
  }
  const bool alike = old && IndexedAlike(*old, row);
  if (old && !alike) IndexJob(*old, false);
  newest = std::max({newest, row.submitted_at, row.queued_at, row.ended_at});
  auto stored = std::make_shared<const Job>(std::move(row));
  ListJob(old, stored);
  tables_.jobs.Put(stored->id, stored);
  if (!alike) IndexJob(*stored, true);
  if (stored->id >= next_job_id) next_job_id = JobId(stored->id.value + 1);
  return stored;
}

std::shared_ptr<const Attempt> ClusterState::Put(Attempt row) {
  const Attempt* old = FindAttempt(row.id);
  if (old) CountInterval(*old, false);
  CountInterval(row, true);
  const bool alike = old && IndexedAlike(*old, row);
  if (old && !alike) IndexAttempt(*old, false);
  newest =
      std::max({newest, row.claimed_at, row.started_at, row.running_at, row.stop_at, row.ended_at, row.durable_at});
  for (const Agreement& r : row.agreements) {
    newest = std::max({newest, r.requested_at, r.notified_at, r.agreed_at, r.saved_at, r.left_at, r.released_at});
  }
  auto stored = std::make_shared<const Attempt>(std::move(row));
  tables_.attempts.Put(stored->id, stored);
  if (!alike) IndexAttempt(*stored, true);
  return stored;
}

std::shared_ptr<const Task> ClusterState::Put(Task row) {
  auto stored = std::make_shared<const Task>(std::move(row));
  tables_.tasks.Put(stored->id, stored);
  return stored;
}

std::shared_ptr<const Node> ClusterState::Put(Node row) {
  const Node* old = FindNode(row.id);
  const bool alike = old && IndexedAlike(*old, row);
  if (old && !alike) IndexNode(*old, false);
  const bool laid_alike = old && old->labels == row.labels && old->allowed_folders == row.allowed_folders &&
                          old->only_uid == row.only_uid && old->needs_uid == row.needs_uid;
  if (!laid_alike) layouts_ = nullptr;
  newest = std::max({newest, row.use_since, row.cordon ? row.cordon->since : TimePoint{}});
  if (old) index_.counts.Count(*old, false);
  index_.counts.Count(row, true);
  if (old && old->name != row.name) tables_.node_ids.Erase(old->name);
  if (!old || old->name != row.name) tables_.node_ids.Put(row.name, std::make_shared<const NodeId>(row.id));
  auto stored = std::make_shared<const Node>(std::move(row));
  tables_.nodes.Put(stored->id, stored);
  if (!alike) IndexNode(*stored, true);
  if (stored->id >= next_node_id) next_node_id = NodeId(stored->id.value + 1);
  return stored;
}

std::shared_ptr<const Share> ClusterState::Put(Share row) {
  auto stored = std::make_shared<const Share>(std::move(row));
  tables_.shares.Put(stored->id, stored);
  index_.team_service.Put(*stored);
  return stored;
}

std::shared_ptr<const LifeTable> ClusterState::Put(LifeTable row) {
  auto stored = std::make_shared<const LifeTable>(std::move(row));
  tables_.life_tables.Put(stored->id, stored);
  index_.history.Put(*stored);
  return stored;
}

void ClusterState::SetAccounts(Accounts accounts) {
  tables_.accounts = std::make_shared<const Accounts>(std::move(accounts));
}

namespace {

// Beyond this a moment is as good as never.
constexpr TimePoint kNoEnd{std::int64_t{1} << 60};

}  // namespace

void ClusterState::IndexToken(const TokenRow& row, bool add) {
  if (row.attempt) AddTo(index_.job_tokens, row.attempt, row.id, add);
  if (row.expires_at && row.expires_at < kNoEnd) AddTo(index_.token_ends, std::pair(row.expires_at, row.id), add);
}

void ClusterState::ChangeIdentity(const std::vector<IdentityChange>& changes) {
  auto next = std::make_shared<Identity>(*tables_.identity);
  for (const IdentityChange& change : changes) {
    const auto* token = std::get_if<TokenRow>(&change.row);
    const TokenRow* old = token ? next->tokens.Find(token->id) : nullptr;
    if (old) IndexToken(*old, false);
    if (token && !change.removed) IndexToken(*token, true);
    next->Change(change);
  }
  tables_.identity = std::move(next);
}

ClusterState ClusterState::Of(const Tables& tables) {
  ClusterState state;
  state.tables_ = tables;
  tables.jobs.ForEach([&](JobId id, const Job& row) {
    state.IndexJob(row, true);
    state.index_.counts.Count(row, true);
    state.CountSaves(row, true);
    state.next_job_id = JobId(id.value + 1);
  });
  tables.attempts.ForEach([&](const AttemptId&, const Attempt& row) {
    state.IndexAttempt(row, true);
    state.CountInterval(row, true);
  });
  tables.nodes.ForEach([&](NodeId id, const Node& row) {
    state.IndexNode(row, true);
    state.index_.counts.Count(row, true);
    state.next_node_id = NodeId(id.value + 1);
  });
  tables.shares.ForEach([&](const ShareId&, const Share& row) { state.index_.team_service.Put(row); });
  tables.life_tables.ForEach([&](const LifeTableId&, const LifeTable& row) { state.index_.history.Put(row); });
  tables.reservations.ForEach([&](const std::string&, const Reservation& row) { state.IndexReservation(row, true); });
  tables.identity->tokens.ForEach([&](const std::string&, const TokenRow& row) { state.IndexToken(row, true); });
  return state;
}

Index ClusterState::RebuildIndex() const {
  ClusterState fresh;
  tables_.jobs.ForEach([&](const JobId&, const Job& row) { fresh.Put(row); });
  tables_.attempts.ForEach([&](const AttemptId&, const Attempt& row) { fresh.Put(row); });
  tables_.nodes.ForEach([&](const NodeId&, const Node& row) { fresh.Put(row); });
  tables_.shares.ForEach([&](const ShareId&, const Share& row) { fresh.Put(row); });
  tables_.life_tables.ForEach([&](const LifeTableId&, const LifeTable& row) { fresh.Put(row); });
  tables_.reservations.ForEach([&](const std::string&, const Reservation& row) { fresh.Put(row); });
  tables_.identity->tokens.ForEach([&](const std::string&, const TokenRow& row) { fresh.IndexToken(row, true); });
  return fresh.index_;
}

}  // namespace glim::core
