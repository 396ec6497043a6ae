#include "scheduler/core/lifecycle/validation_job.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/attempt_start.h"
#include "scheduler/core/lifecycle/reservations.h"
#include "scheduler/core/model/node_users.h"
#include "sdk/base/number_text.h"

namespace glim::core {
namespace {

// Of glim-validate: far more than it takes.
constexpr Duration kQuickLongest = Hours(1), kFullLongest = Hours(8);
constexpr int kDigits = 6;  // of what is expected of a node

bool IsOf(const NodeBaseline& baseline, const NodeLabels& labels) {
  return (baseline.pool.empty() || baseline.pool == labels.pool) &&
         (baseline.gpu_type.empty() || baseline.gpu_type == labels.gpu_type);
}

// " --expect cpu.piece=41.6,disk.write=880"; empty: the node is compared with itself.
std::string ExpectedOf(const NodeLabels& labels, const std::vector<NodeBaseline>& baselines) {
  const auto found = std::find_if(baselines.begin(), baselines.end(),
                                  [&](const NodeBaseline& baseline) { return IsOf(baseline, labels); });
  if (found == baselines.end()) return "";
  std::string text;
  for (const auto& [measure, value] : found->expected) {
    text += (text.empty() ? " --expect " : ",") + measure + "=" + NumberText(value, kDigits);
  }
  return text;
}

// Nothing is held against it, nobody has it, and what runs on the one runs on the other.
bool MayBePartner(const Changes& changes, const Node& suspect, const Node& node) {
  const bool good = !IsSuspect(node, changes.now()) && !node.lemon && node.validation.need == ValidationNeed::kNone;
  const bool alike = node.labels.pool == suspect.labels.pool && node.labels.zone == suspect.labels.zone &&
                     node.labels.gpu_count == suspect.labels.gpu_count && node.only_uid == suspect.only_uid &&
                     node.needs_uid == suspect.needs_uid;
  return node.id != suspect.id && good && alike && IsFree(node) && !IsKeptFrom(changes.state(), node.id, "");
}

// The nearest one; null: there is none, or the node does not need any.
const Node* PartnerOf(const Changes& changes, const Node& suspect) {
  const Node* found = nullptr;
  const ValidationNeed need = suspect.validation.need;
  const bool network =
      need == ValidationNeed::kSuspicion || (need == ValidationNeed::kAsked && IsSuspect(suspect, changes.now()));
  if (!network) return found;
  changes.state().tables().nodes.ForEach([&](NodeId, const Node& node) {
    if (!MayBePartner(changes, suspect, node)) return;
    const bool nearer =
        node.labels.leaf == suspect.labels.leaf && (!found || found->labels.leaf != suspect.labels.leaf);
    if (!found || nearer) found = &node;
  });
  return found;
}

// What is between the two is measured first. Exit code 1: it could not be measured, as where a firewall lies between
// them; then the node is measured alone, or a suspect would never be cleared.
std::string CommandOf(const NodeValidation& asked, bool full, const std::string& expected, bool paired) {
  std::string all = std::string("exec glim-validate ") + (full ? "--full" : "--quick") + " --json";
  for (const std::string& folder : asked.folders) all += " --folder " + folder;
  if (!paired) return all + expected;
  return "glim-validate --part network --json" + expected + "; code=$?; [ $code -le 1 ] || exit $code; " +
         "[ \"$NODE_RANK\" != 0 ] || " + all + " --alone" + expected;
}

}  // namespace

JobSpec SpecThatMeasures(const Node& node, const ValidatePolicy& policy, bool paired) {
  JobSpec spec;
  spec.name = "validate-" + node.name;
  spec.pool = node.labels.pool;
  spec.priority = PriorityClass::kLow;
  spec.gpus_per_node = node.labels.gpu_count;  // all of them, or none is tested
  spec.nodes = paired ? 2 : 1;
  spec.placement.node = node.name;
  spec.workdir = "/tmp";
  const bool full = policy.full || node.validation.full;
  spec.run = CommandOf(node.validation, full, ExpectedOf(node.labels, policy.baselines), paired);
  for (const std::string& folder : node.validation.folders) spec.mounts.push_back({folder, folder, false});
  // It has nothing to save: who is more urgent gets the node at once.
  spec.interrupt_mode = InterruptMode::kSignal;
  spec.grace = spec.max_grace = {};
  spec.restart_on.clear();
  spec.restart_max = 0;
  spec.time_limit = full ? kFullLongest : kQuickLongest;
  return spec;
}

void BeginMeasuring(Changes& changes, NodeId id) {
  const Node& node = changes.node(id);
  std::vector<NodeId> nodes = {id};
  if (const Node* partner = PartnerOf(changes, node)) nodes.push_back(partner->id);
  const auto count = static_cast<std::uint32_t>(nodes.size());
  Job job;
  job.id = changes.NewJobId();
  job.user = kClusterUser;
  job.validates = id;
  job.spec = std::make_shared<const JobSpec>(SpecThatMeasures(node, changes.policy().health.validate, count > 1));
  job.state = JobState::kStarting;
  job.priority = PriorityClass::kLow;
  job.submitted_at = job.queued_at = changes.now();
  job.attempts = 1;
  Attempt attempt;
  attempt.id = {job.id, 1};
  attempt.nodes = nodes;
  attempt.zones = {node.labels.zone};
  attempt.charged = PriorityClass::kLow;
  attempt.borrowed = true;  // it is of no quota, and leaves first
  attempt.nodes_held = count;
  attempt.queued_at = attempt.claimed_at = changes.now();
  const AttemptId begun = attempt.id;
  changes.Note(HistoryKind::kJobSubmitted, {job.id, 0}, {}, "",
               {.name = job.spec->name, .user = job.user, .priority = job.priority, .nodes = count});
  changes.Write(std::move(job));
  changes.Write(std::move(attempt));
  for (const NodeId one : nodes) changes.EditNode(one, [&](Node& row) { row.holder = begun; });
  changes.EditNode(id, [&](Node& row) { row.validation.job = begun.job; });
  HistoryFacts facts{.nodes = count, .nodes_free = count};
  changes.NameNodes(nodes, facts);
  changes.Note(HistoryKind::kAttemptClaimed, begun, {}, "", std::move(facts));
  BeginStart(changes, begun);
}

}  // namespace glim::core
