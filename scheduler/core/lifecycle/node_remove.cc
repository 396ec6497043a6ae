#include "scheduler/core/lifecycle/node_remove.h"

#include <algorithm>
#include <string>

#include "scheduler/core/lifecycle/identity_change.h"
#include "scheduler/core/lifecycle/replica_leave.h"
#include "scheduler/core/lifecycle/save_place.h"

namespace glim::core {
namespace {

Status InUse(const Node& node, AttemptId attempt) {
  const std::string job = std::to_string(attempt.job.value);
  return Status(StatusCode::kFailedPrecondition, "node " + node.name + " is in use by job " + job)
      .WithReason("NODE_IN_USE")
      .WithField("node")
      .WithFix("wait until that job has left the node, or cancel it: glim cancel " + job);
}

Status IsConnected(const Node& node) {
  return Status(StatusCode::kFailedPrecondition, "the agent of node " + node.name + " is connected")
      .WithReason("NODE_CONNECTED")
      .WithField("node")
      .WithFix("stop that agent first, or give --connected: then it registers anew at once");
}

// They are stopped by this node's orders: the machine that registers anew would have them as orphans, for ever.
Status IsBeingEmptied(const Node& node) {
  const std::string tasks =
      node.stale_tasks.size() == 1 ? "a task" : std::to_string(node.stale_tasks.size()) + " tasks";
  return Status(StatusCode::kFailedPrecondition,
                "node " + node.name + " may still run " + tasks + " whose job goes on elsewhere, first of job " +
                    std::to_string(node.stale_tasks.front().attempt.job.value) + "; its agent is told to stop")
      .WithReason("NODE_IN_USE")
      .WithField("node")
      .WithFix("try again in a minute; if they do not go, start the machine anew, or stop its agent first");
}

bool Names(const Attempt& attempt, NodeId node) {
  return std::find(attempt.nodes.begin(), attempt.nodes.end(), node) != attempt.nodes.end();
}

void NoteRemoved(Changes& changes, NodeId id, const std::string& name) {
  changes.Note(HistoryKind::kNodeRemoved, {}, id, "", {.node_names = {name}});
}

void ForgetIdentity(Changes& changes, const Node& node, bool comes_again) {
  const NodeIdentity* const identity = changes.state().identity().nodes.Find(node.name);
  if (identity == nullptr) return;
  if (comes_again) {
    NodeIdentity next = *identity;
    std::erase(next.labelled_fields, "gpus");
    if (next != *identity) changes.ChangeIdentity({{std::move(next)}});
    return;
  }
  const bool others = !identity->machine_id.empty() && identity->machine_id != node.machine_id;
  if (!others) changes.ChangeIdentity({{*identity, true}});
}

}  // namespace

Status NoSuchNode(const std::string& name) {
  return Status(StatusCode::kNotFound, "no node " + name)
      .WithReason("NO_SUCH_NODE")
      .WithField("node")
      .WithFix("glim nodes lists the nodes");
}

void ApplyRemove(Changes& changes, const RemoveNode& event) {
  const auto known = changes.state().index().node_by_name.find(event.name);
  if (known == changes.state().index().node_by_name.end()) {
    const NodeIdentity* const found = changes.state().identity().nodes.Find(event.name);
    if (found == nullptr) {
      changes.reply().status = NoSuchNode(event.name);
      return;
    }
    const NodeIdentity identity = *found;  // what follows changes the table
    NoteRemoved(changes, {}, event.name);
    ForgetLogins(changes, identity);
    changes.ChangeIdentity({{identity, true}});
    return;
  }
  const NodeId id = known->second;
  const Node node = changes.node(id);
  for (const AttemptId attempt : LiveAttempts(changes.state())) {
    if (!Names(changes.attempt(attempt), id)) continue;
    changes.reply().status = InUse(node, attempt);
    return;
  }
  if (changes.liveness(id).session != 0 && !event.connected) {
    changes.reply().status = IsConnected(node);
    return;
  }
  if (changes.liveness(id).session != 0 && !node.stale_tasks.empty()) {
    changes.reply().status = IsBeingEmptied(node);
    return;
  }
  NoteRemoved(changes, id, node.name);
  LeaveReplicas(changes, id);
  changes.Sync(id);  // its stream ends
  changes.EraseNode(id);
  SettleSavesOnRemoved(changes, node);
  ForgetIdentity(changes, node, event.connected);
}

}  // namespace glim::core
