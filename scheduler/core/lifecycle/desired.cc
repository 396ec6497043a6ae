#include "scheduler/core/lifecycle/desired.h"

#include "scheduler/core/lifecycle/watchdog.h"

namespace glim::core {
namespace {

void AddHolder(const Tables& tables, const Node& node, std::vector<DesiredTask>& desired) {
  const Attempt* attempt = tables.attempts.Find(node.holder);
  if (!attempt || attempt->state == AttemptState::kClaimed || attempt->state == AttemptState::kEnded) return;
  tables.tasks.VisitFrom({node.holder, 0}, [&](const TaskId& id, const Task& task) {
    if (id.attempt != node.holder) return false;
    if (task.node != node.id) return true;
    if (task.phase == TaskPhase::kReleased) return false;
    DesiredTask entry;
    entry.id = id;
    entry.job = tables.jobs.Find(id.attempt.job);
    entry.attempt = attempt;
    entry.stop = attempt->stop != StopCause::kNone || task.lost;
    entry.stop_reason = attempt->message;
    entry.launch = task.phase == TaskPhase::kPending && !entry.stop;
    entry.interrupt = !attempt->agreements.empty();
    if (!entry.stop && AsksForEvidence(*attempt)) entry.evidence = attempt->evidence_asked;
    desired.push_back(entry);
    return false;
  });
}

}  // namespace

std::vector<DesiredTask> DesiredFor(const Tables& tables, NodeId id) {
  std::vector<DesiredTask> desired;
  const Node* node = tables.nodes.Find(id);
  if (!node) return desired;
  if (node->holder) AddHolder(tables, *node, desired);
  for (const TaskId stale : node->stale_tasks) {
    DesiredTask entry;
    entry.id = stale;
    entry.job = tables.jobs.Find(stale.attempt.job);
    entry.attempt = tables.attempts.Find(stale.attempt);
    entry.stop = true;
    entry.stop_reason = "its job goes on elsewhere";
    desired.push_back(entry);
  }
  return desired;
}

}  // namespace glim::core
