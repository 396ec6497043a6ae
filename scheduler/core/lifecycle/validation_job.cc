#include "scheduler/core/lifecycle/validation_job.h"

#include <memory>
#include <utility>

#include "scheduler/core/lifecycle/attempt_start.h"
#include "scheduler/core/model/node_users.h"

namespace glim::core {
namespace {

// Of glim-validate: far more than it takes.
constexpr Duration kQuickLongest = Hours(1), kFullLongest = Hours(8);

}  // namespace

JobSpec SpecThatMeasures(const Node& node, const ValidatePolicy& policy) {
  JobSpec spec;
  spec.name = "validate-" + node.name;
  spec.pool = node.labels.pool;
  spec.priority = PriorityClass::kLow;
  spec.gpus_per_node = 0;
  spec.placement.node = node.name;
  spec.workdir = "/tmp";
  spec.run = std::string("exec glim-validate ") + (policy.full ? "--full" : "--quick") + " --json";
  // It has nothing to save: who is more urgent gets the node at once.
  spec.interrupt_mode = InterruptMode::kSignal;
  spec.grace = spec.max_grace = {};
  spec.restart_on.clear();
  spec.restart_max = 0;
  spec.time_limit = policy.full ? kFullLongest : kQuickLongest;
  return spec;
}

void BeginMeasuring(Changes& changes, NodeId id) {
  const Node& node = changes.node(id);
  Job job;
  job.id = changes.NewJobId();
  job.user = kClusterUser;
  job.validates = id;
  job.spec = std::make_shared<const JobSpec>(SpecThatMeasures(node, changes.policy().health.validate));
  job.state = JobState::kStarting;
  job.priority = PriorityClass::kLow;
  job.submitted_at = job.queued_at = changes.now();
  job.attempts = 1;
  Attempt attempt;
  attempt.id = {job.id, 1};
  attempt.nodes = {id};
  attempt.zones = {node.labels.zone};
  attempt.charged = PriorityClass::kLow;
  attempt.borrowed = true;  // it is of no quota, and leaves first
  attempt.nodes_held = 1;
  attempt.queued_at = attempt.claimed_at = changes.now();
  const AttemptId begun = attempt.id;
  changes.Note(HistoryKind::kJobSubmitted, {job.id, 0}, {}, "",
               {.name = job.spec->name, .user = job.user, .priority = job.priority, .nodes = 1});
  changes.Write(std::move(job));
  changes.Write(std::move(attempt));
  changes.EditNode(id, [&](Node& row) {
    row.holder = begun;
    row.validation.job = begun.job;
  });
  HistoryFacts facts{.nodes = 1, .nodes_free = 1};
  changes.NameNodes({id}, facts);
  changes.Note(HistoryKind::kAttemptClaimed, begun, {}, "", std::move(facts));
  BeginStart(changes, begun);
}

}  // namespace glim::core
