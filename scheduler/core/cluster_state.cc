#include "scheduler/core/cluster_state.h"

#include <algorithm>
#include <utility>

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

}  // namespace

Round* Attempt::open_round() {
  return const_cast<Round*>(std::as_const(*this).open_round());
}

const Round* Attempt::open_round() const {
  if (rounds.empty()) return nullptr;
  const Round& last = rounds.back();
  return last.state == RoundState::kWithdrawn || last.state == RoundState::kEnded ? nullptr : &last;
}

Shape ShapeOf(const Job& job) {
  return {job.spec->pool, job.spec->priority, job.user, job.spec->nodes, job.spec->gpus_per_node, job.spec->placement};
}

QueueKey QueueKeyOf(const Job& job) { return {!job.swap_aborted, job.submitted_at, job.id}; }

bool IsFree(const Node& node) {
  return node.state == NodeState::kReady && !node.holder && !node.claim && node.zombies.empty() && node.orphans.empty();
}

const Attempt* ClusterState::LiveAttempt(const Job& job) const {
  const Attempt* attempt = FindAttempt({job.id, job.attempts});
  return attempt && attempt->state != AttemptState::kEnded ? attempt : nullptr;
}

void ClusterState::IndexJob(const Job& row, bool add) {
  if (row.state == JobState::kQueued) {
    if (row.not_before) {
      AddTo(index_.delayed, std::pair(row.not_before, row.id), add);
    } else {
      AddTo(index_.queue, ShapeOf(row), QueueKeyOf(row), add);
    }
  }
  if (!row.request_id.empty()) AddTo(index_.requests, std::pair(row.user, row.request_id), row.id, add);
  if (IsTerminal(row.state)) {
    AddTo(index_.finished, std::pair(row.ended_at, row.id), add);
    return;
  }
  const std::uint32_t one = 1;
  index_.unfinished += add ? one : -one;
  auto& of_user = index_.unfinished_by_user[row.user];
  of_user += add ? one : -one;
  if (of_user == 0) index_.unfinished_by_user.erase(row.user);
}

void ClusterState::IndexAttempt(const Attempt& row, bool add) {
  if (row.state == AttemptState::kEnded) return;
  const Job* job = FindJob(row.id.job);
  GLIM_CHECK(job, "attempt " + ToString(row.id) + " without a job");
  AddTo(index_.live, job->spec->pool, row.id, add);
  if (row.state != AttemptState::kRunning || row.open_round()) AddTo(index_.attention, row.id, add);
}

void ClusterState::IndexNode(const Node& row, bool add) {
  AddTo(index_.nodes_by_pool, row.labels.pool, row.id, add);
  if (IsFree(row)) AddTo(index_.free_nodes, row.labels.pool, row.id, add);
  if (row.claim) AddTo(index_.claims, row.claim, row.id, add);
  if (add) {
    index_.node_by_name[row.name] = row.id;
  } else {
    index_.node_by_name.erase(row.name);
  }
}

std::shared_ptr<const Job> ClusterState::Put(Job row) {
  if (const Job* old = FindJob(row.id)) IndexJob(*old, false);
  newest = std::max({newest, row.submitted_at, row.queued_at, row.ended_at});
  auto stored = std::make_shared<const Job>(std::move(row));
  tables_.jobs.Put(stored->id, stored);
  IndexJob(*stored, true);
  if (stored->id >= next_job_id) next_job_id = JobId(stored->id.value + 1);
  return stored;
}

std::shared_ptr<const Attempt> ClusterState::Put(Attempt row) {
  if (const Attempt* old = FindAttempt(row.id)) IndexAttempt(*old, false);
  newest = std::max({newest, row.claimed_at, row.started_at, row.running_at, row.stop_at, row.ended_at});
  auto stored = std::make_shared<const Attempt>(std::move(row));
  tables_.attempts.Put(stored->id, stored);
  IndexAttempt(*stored, true);
  return stored;
}

std::shared_ptr<const Task> ClusterState::Put(Task row) {
  auto stored = std::make_shared<const Task>(std::move(row));
  tables_.tasks.Put(stored->id, stored);
  return stored;
}

std::shared_ptr<const Node> ClusterState::Put(Node row) {
  if (const Node* old = FindNode(row.id)) IndexNode(*old, false);
  newest = std::max(newest, row.use_since);
  auto stored = std::make_shared<const Node>(std::move(row));
  tables_.nodes.Put(stored->id, stored);
  IndexNode(*stored, true);
  if (stored->id >= next_node_id) next_node_id = NodeId(stored->id.value + 1);
  return stored;
}

void ClusterState::EraseJob(JobId id) {
  const Job* job = FindJob(id);
  if (!job) return;
  std::vector<AttemptId> attempts;
  tables_.attempts.VisitFrom({id, 0}, [&](const AttemptId& key, const Attempt& row) {
    if (key.job != id) return false;
    attempts.push_back(key);
    IndexAttempt(row, false);
    return true;
  });
  std::vector<TaskId> tasks;
  tables_.tasks.VisitFrom({{id, 0}, 0}, [&](const TaskId& key, const Task&) {
    if (key.attempt.job != id) return false;
    tasks.push_back(key);
    return true;
  });
  for (const auto& task : tasks) tables_.tasks.Erase(task);
  for (const auto& attempt : attempts) tables_.attempts.Erase(attempt);
  IndexJob(*job, false);
  tables_.jobs.Erase(id);
}

Index ClusterState::RebuildIndex() const {
  ClusterState fresh;
  tables_.jobs.ForEach([&](const JobId&, const Job& row) { fresh.Put(row); });
  tables_.attempts.ForEach([&](const AttemptId&, const Attempt& row) { fresh.Put(row); });
  tables_.nodes.ForEach([&](const NodeId&, const Node& row) { fresh.Put(row); });
  return fresh.index_;
}

}  // namespace glim::core
