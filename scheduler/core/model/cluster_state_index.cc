#include <algorithm>
#include <utility>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/index_entries.h"
#include "sdk/base/check.h"

namespace glim::core {
namespace {

template <typename Set, typename Value>
void AddTo(Set& set, const Value& value, bool add) {
  if (add) {
    set.insert(value);
  } else {
    set.erase(value);
  }
}

template <typename Map, typename Key, typename Value>
void AddTo(Map& map, const Key& key, const Value& value, bool add) {
  auto& set = map[key];
  AddTo(set, value, add);
  if (set.empty()) map.erase(key);
}

// Bounds within which the sums of a million jobs fit, whatever a row says.
std::int64_t Counted(std::uint32_t times) { return std::min<std::int64_t>(times, 100'000); }
std::int64_t Counted(Duration time) { return std::clamp<std::int64_t>(time.ms, 0, Hours(24).ms); }

// Beyond this a moment is as good as never.
constexpr TimePoint kNoEnd{std::int64_t{1} << 60};

}  // namespace

void ClusterState::ChangeIndex(const JobEntry& entry, bool add) {
  index_.kept.Count(entry.kept, add);
  if (!entry.request_id.empty()) {
    AddTo(index_.requests, std::pair(std::string(entry.kept.user), std::string(entry.request_id)), entry.id, add);
  }
  if (entry.delayed_until) AddTo(index_.delayed, std::pair(entry.delayed_until, entry.id), add);
  if (entry.queued) {
    AddTo(index_.queue, entry.queued->shape, entry.queued->key, add);
    AddTo(index_.waiting, entry.queued->shape, std::pair(entry.queued->queued_at, entry.id), add);
  }
  if (entry.save_watched) AddTo(index_.save_watch, entry.id, add);
  if (entry.doubled) AddTo(index_.doubled, entry.id, add);
  for (const NodeId node : entry.saved_on) AddTo(index_.saved_on, node, entry.id, add);
  for (const JobId job : entry.depends_on) AddTo(index_.dependants, job, entry.id, add);
}

void ClusterState::ChangeIndex(const SavesEntry& entry, bool add) {
  if (entry.asked == 0) return;
  const std::string name(entry.pool);
  PoolSaves& pool = index_.saves[name];
  const std::int64_t sign = add ? 1 : -1;
  pool.asked += sign * Counted(entry.asked);
  pool.done += sign * Counted(entry.done);
  pool.save_ms += sign * Counted(entry.save_cost) * Counted(entry.done);
  pool.leaves += sign * Counted(entry.leaves);
  pool.leave_ms += sign * Counted(entry.leave_time) * Counted(entry.leaves);
  if (pool == PoolSaves()) index_.saves.erase(name);
}

void ClusterState::CountInterval(const Attempt& row, bool add) {
  if (row.save_interval.ms == 0 || row.state == AttemptState::kEnded) return;
  const std::string& name = FindJob(row.id.job)->spec->pool;
  PoolSaves& pool = index_.saves[name];
  pool.intervals += add ? 1 : -1;
  pool.interval_ms += add ? Counted(row.save_interval) : -Counted(row.save_interval);
  if (pool == PoolSaves()) index_.saves.erase(name);
}

void ClusterState::ChangeIndex(const AttemptEntry& entry, bool add) {
  for (const NodeId node : entry.replicas) {
    if (node) AddTo(index_.replicas_on, node, entry.id, add);
  }
  if (!entry.live) return;
  AddTo(index_.live, std::string(entry.pool), entry.id, add);
  if (entry.limit_at) AddTo(index_.limits, std::pair(entry.limit_at, entry.id), add);
  if (entry.needs_attention) AddTo(index_.attention, entry.id, add);
  CountCopies(entry, add);
}

void ClusterState::CountCopies(const AttemptEntry& entry, bool add) {
  for (const NodeId node : entry.replicas) {
    if (!node) continue;
    std::uint32_t& copies = index_.replica_copies[node];
    copies += add ? 1 : -1u;
    if (copies == 0) index_.replica_copies.erase(node);
  }
}

void ClusterState::ChangeIndex(const NodeEntry& entry, bool add) {
  const std::string pool(entry.pool), name(entry.name);
  AddTo(index_.nodes_by_pool, pool, entry.id, add);
  if (entry.free) AddTo(index_.free_nodes, pool, entry.id, add);
  if (entry.claim) AddTo(index_.claims, entry.claim, entry.id, add);
  if (!entry.root_marker.empty()) AddTo(index_.root_markers, std::string(entry.root_marker), entry.id, add);
  if (entry.takes_replicas) {
    AddTo(index_.replica_services, std::pair(std::string(entry.zone), std::string(entry.leaf)), entry.id, add);
  }
  if (entry.draining) AddTo(index_.draining, entry.id, add);
  if (entry.cordoned_until) AddTo(index_.cordon_ends, std::pair(entry.cordoned_until, entry.id), add);
  if (entry.lemon) AddTo(index_.lemons, entry.id, add);
  for (const JobId job : entry.jobs_left) AddTo(index_.orphans, job, entry.id, add);
  if (entry.measuring) AddTo(index_.measuring, entry.id, add);
  if (entry.measure_again) AddTo(index_.measure_again, std::pair(entry.measure_again, entry.id), add);
  if (entry.to_measure) AddTo(index_.to_measure, *entry.to_measure, add);
  if (entry.found_good) AddTo(index_.found_good, std::pair(*entry.found_good, entry.id), add);
  if (add) {
    index_.node_by_name[name] = entry.id;
  } else {
    index_.node_by_name.erase(name);
  }
}

void ClusterState::IndexToken(const TokenRow& row, bool add) {
  if (row.attempt) AddTo(index_.job_tokens, row.attempt, row.id, add);
  if (row.expires_at && row.expires_at < kNoEnd) AddTo(index_.token_ends, std::pair(row.expires_at, row.id), add);
}

}  // namespace glim::core
