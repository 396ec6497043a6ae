#include "scheduler/core/lifecycle/health_blame.h"

#include <algorithm>

#include "scheduler/core/lifecycle/lost_contact.h"
#include "scheduler/core/lifecycle/suspicion.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/health_rules.h"
#include "scheduler/core/model/planted.h"
#include "sdk/base/size_text.h"

namespace glim::core {
namespace {

struct FoundAt {
  FailureCause cause;
  TimePoint at;
};

template <typename Found>
void Earlier(FoundAt& first, const Node& node, Outcome outcome, TimePoint at, const Found& found) {
  if (outcome == Outcome::kNone || (first.cause.outcome != Outcome::kNone && first.at <= at)) return;
  first = {{outcome, node.id, HealthInWords(found) + " on node " + node.name, found.device}, at};
}

void LookAt(const Policy& policy, const Attempt& attempt, const Node& node, TimePoint failed_at, FoundAt& first) {
  const TimePoint from = std::max(attempt.started_at, failed_at - policy.health.blame_window);
  for (const HealthEvent& event : node.health_events) {
    // Nobody's: the attempt had left the node already, and has not left them all.
    if ((event.job && event.job != attempt.id.job) || event.at < from) continue;
    Earlier(first, node, BlamedFor(policy.health, event.check, event.code), event.at, event);
  }
  for (const HealthCondition& condition : node.health_conditions) {
    Earlier(first, node, BlamedFor(policy.health, condition.check, 0), condition.since, condition);
  }
}

// The others of a gang fail seconds after a node has gone, long before its silence says so. A task that does not go
// when it is stopped is written off, too: that says nothing of why the others failed, and its node is quarantined.
bool IsLostWithItsNode(const ClusterState& state, const Task& task) {
  const Node* node = state.FindNode(task.node);
  return task.lost && node && node->state != NodeState::kQuarantined;
}

std::string MemoryInWords(const std::string& node, std::int64_t limit) {
  if (limit == 0) {
    return "its task took all the memory that tasks have on node " + node +
           ": ask for fewer ranks on a node, or for nodes with more memory";
  }
  return "its task met its limits.memory of " + WriteSize(limit) + " on node " + node +
         ": submit it again with a higher limits.memory";
}

}  // namespace

FailureCause CauseOfFailure(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint now) {
  FoundAt first;
  for (const NodeId id : attempt.nodes) {
    const Node* node = state.FindNode(id);
    if (node) LookAt(policy, attempt, *node, attempt.stop_at ? attempt.stop_at : now, first);
  }
  if (first.cause.outcome != Outcome::kNone) return first.cause;
  for (const Task* task : TasksOf(state, attempt.id)) {
    if (IsLostWithItsNode(state, *task)) {
      return {Outcome::kNodeFailure, task->node, "its task was lost on node " + state.FindNode(task->node)->name};
    }
  }
  for (const Task* task : TasksOf(state, attempt.id)) {
    if (!task->out_of_memory) continue;
    const Node* node = state.FindNode(task->node);
    const Job* job = state.FindJob(attempt.id.job);
    return {Outcome::kOutOfMemory, task->node,
            MemoryInWords(node ? node->name : "", job ? job->spec->limits.memory_bytes : 0)};
  }
  const LostContact lost = LostContactOf(state, attempt);
  if (lost.times == 0 || Planted(PlantedBug::kCutFailsJob)) return {};
  if (lost.times >= kContactsLostMax) {
    return {Outcome::kNone,
            {},
            "its ranks lost contact with each other " + std::to_string(lost.times) +
                " times in a row without a save in between: that counts as the program's"};
  }
  return {Outcome::kNetwork, {}, "its ranks lost contact with each other, and none failed by itself"};
}

void LeaveOut(Changes& changes, NodeId id, const std::string& why) {
  const Node* node = changes.state().FindNode(id);
  if (node && !node->cordon && node->suspect_until <= changes.now()) Suspect(changes, id, why);
}

}  // namespace glim::core
