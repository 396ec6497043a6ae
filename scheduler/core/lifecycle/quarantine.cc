#include "scheduler/core/lifecycle/quarantine.h"

#include <algorithm>

#include "scheduler/core/lifecycle/attempt_machine.h"
#include "scheduler/core/lifecycle/node_loss.h"

namespace glim::core {
namespace {

std::string NameOf(TaskId id) { return "task " + ToString(id.attempt) + "." + std::to_string(id.index); }

// What is left of it, by number and by what its agent says.
std::string EvidenceOf(const Task& task) {
  std::string text = NameOf(task.id) + " did not go after SIGKILL: ";
  if (task.pids.empty() && task.message.empty()) return text + "its agent names no process of it";
  for (std::size_t i = 0; i < task.pids.size(); ++i) {
    text += (i > 0 ? ", " : task.pids.size() == 1 ? "process " : "processes ") + std::to_string(task.pids[i]);
  }
  return text + (task.pids.empty() || task.message.empty() ? "" : "; ") + task.message;
}

}  // namespace

void Quarantine(Changes& changes, TaskId id) {
  const Task* task = changes.state().FindTask(id);
  const NodeId node = task->node;
  const std::string evidence = EvidenceOf(*task);
  SetNodeState(changes, node, NodeState::kQuarantined, evidence);
  changes.EditNode(node, [&](Node& row) { row.stuck_tasks.push_back(id); });
  changes.Note(HistoryKind::kNodeQuarantined, id.attempt, node, evidence);
  WriteOffTask(changes, id, evidence);
}

void TakeOutForGood(Changes& changes, NodeId id, const std::string& why) {
  SetNodeState(changes, id, NodeState::kQuarantined, why);
  changes.EditNode(id, [](Node& node) { node.stuck_tasks.clear(); });
}

void GoneAtLast(Changes& changes, NodeId id, TaskId task) {
  const std::vector<TaskId>& stuck = changes.node(id).stuck_tasks;
  if (std::find(stuck.begin(), stuck.end(), task) == stuck.end()) return;
  changes.EditNode(id, [&](Node& node) { std::erase(node.stuck_tasks, task); });
  if (changes.node(id).state != NodeState::kQuarantined || !changes.node(id).stuck_tasks.empty()) return;
  SetNodeState(changes, id, NodeState::kReady, "");
  changes.Note(HistoryKind::kNodeReturned, task.attempt, id, NameOf(task) + " is gone");
}

}  // namespace glim::core
