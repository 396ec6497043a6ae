#include "scheduler/core/lifecycle/attempt_start.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "scheduler/core/lifecycle/node_labels.h"
#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/model/node_users.h"
#include "scheduler/core/model/planted.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/model/task_user.h"
#include "scheduler/core/model/zone_link.h"

namespace glim::core {
namespace {

// MASTER_PORT and, right after it, GLIM_HFREDUCE_PORT. Pairs never overlap: the second is nobody's first.
constexpr std::uint32_t kPortsOfAttempt = 2;

std::uint16_t MasterPort(const Policy& policy, AttemptId id) {
  const std::uint32_t pairs = (policy.master_port_last - policy.master_port_first + 1u) / kPortsOfAttempt;
  // New ports for each attempt: the last attempt's sockets may still linger.
  const std::uint64_t pair = (id.job.value * 31 + id.number) % std::max(1u, pairs);
  return static_cast<std::uint16_t>(policy.master_port_first + pair * kPortsOfAttempt);
}

std::optional<TaskUser> UserOfTasks(const Changes& changes, const Job& job, const Attempt& attempt) {
  const Accounts& accounts = changes.state().accounts();
  if (!job.validates) return TaskUserOf(accounts, job.user);
  return ClusterUserOn(accounts, changes.policy(), changes.node(attempt.nodes.front()));
}

}  // namespace

void BeginStart(Changes& changes, AttemptId id) {
  const std::uint32_t ranks = changes.job(id.job).spec->ranks_per_node();
  // Before the attempt's own row says that it has begun: its job's newest save is what it goes on from.
  TakeBase(changes, id, BaseOf(changes.state(), changes.job(id.job)));
  changes.EditAttempt(id, [&](Attempt& attempt) {
    attempt.state = AttemptState::kStarting;
    attempt.started_at = changes.now();
    attempt.master_port = MasterPort(changes.policy(), id);
    attempt.task_user = UserOfTasks(changes, changes.job(id.job), attempt);  // whatever becomes of it while this runs
  });
  const std::vector<NodeId> nodes = changes.attempt(id).nodes;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    Task task;
    task.id = {id, i};
    task.node = nodes[i];
    for (std::uint32_t r = 0; r < ranks; ++r) task.ranks.emplace_back().rank = i * ranks + r;
    changes.Write(std::move(task));
    changes.Sync(nodes[i]);
  }
  HistoryFacts facts{.step = changes.attempt(id).base.step + 1};
  changes.NameNodes(nodes, facts);
  changes.Note(HistoryKind::kAttemptStarting, id, {}, "", std::move(facts));
}

void BeginWhenItMay(Changes& changes, AttemptId id) {
  const bool early = Planted(PlantedBug::kLinkFreeTooEarly);
  if (early || LinkIsFreeFor(changes.state(), changes.attempt(id))) BeginStart(changes, id);
}

void BeginCrossings(Changes& changes) {
  std::vector<std::pair<TimePoint, AttemptId>> waiting;
  for (const auto& [pool, attempts] : changes.state().index().live) {
    for (const AttemptId id : attempts) {
      const Attempt& attempt = changes.attempt(id);
      const bool complete = attempt.state == AttemptState::kClaimed && attempt.nodes_held == attempt.nodes.size();
      if (complete) waiting.emplace_back(attempt.claimed_at, id);
    }
  }
  std::sort(waiting.begin(), waiting.end());
  for (const auto& [since, id] : waiting) BeginWhenItMay(changes, id);
}

LinkHandover::LinkHandover(Changes& changes, NodeId node) : changes_(changes) {
  const Attempt* holder = changes.state().FindAttempt(changes.node(node).holder);
  if (holder && Crosses(*holder) && !HasLeftItsLink(changes.state(), *holder)) crosses_ = holder->id;
}

void LinkHandover::Done() {
  if (crosses_ && HasLeftItsLink(changes_.state(), changes_.attempt(crosses_))) BeginCrossings(changes_);
}

void ReleaseNode(Changes& changes, NodeId id) {
  ApplyNextLabels(changes, id);
  const AttemptId next = changes.node(id).claim;
  LinkHandover handover(changes, id);
  changes.EditNode(id, [&](Node& node) {
    node.holder = node.claim;
    node.claim = {};
  });
  changes.Sync(id);
  if (!next) return handover.Done();
  bool complete = false;
  changes.EditAttempt(next, [&](Attempt& attempt) {
    ++attempt.nodes_held;
    complete = attempt.nodes_held + Planted(PlantedBug::kHalfGang) == attempt.nodes.size();
  });
  handover.Done();
  const bool waits = changes.attempt(next).state == AttemptState::kClaimed;
  if (complete && waits) BeginWhenItMay(changes, next);
}

}  // namespace glim::core
