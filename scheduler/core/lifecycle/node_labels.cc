#include "scheduler/core/lifecycle/node_labels.h"

#include <algorithm>
#include <string>

#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/replica_leave.h"
#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

void DropUnfit(Changes& changes, NodeId id, AttemptId claimant, const NodeLabels& before) {
  const Attempt* attempt = changes.state().FindAttempt(claimant);
  if (!attempt || attempt->state != AttemptState::kClaimed) return;
  const Node& node = changes.node(id);
  // Its zones and gateways were chosen with the old ones.
  const bool stays = Fits(node.labels, *changes.job(claimant.job).spec) && node.labels.zone == before.zone;
  if (stays || Planted(PlantedBug::kClaimOutlivesPool)) return;
  DropClaims(changes, claimant, "node " + node.name + " has other labels now");
  Requeue(changes, claimant.job, {});
}

void NoteLabels(Changes& changes, NodeId id, const NodeLabels& labels, const std::string& when) {
  changes.Note(HistoryKind::kNodeRelabelled, {}, id, when,
               {.gpus = labels.gpu_count, .pool = labels.pool, .zone = labels.zone});
}

// The node has other labels than before, and nothing runs there.
void SeeNewLabels(Changes& changes, NodeId id, const NodeLabels& before) {
  NoteLabels(changes, id, NodeLabels(changes.node(id).labels), "");
  DropUnfit(changes, id, changes.node(id).claim, before);
  DropUnfit(changes, id, changes.node(id).holder, before);
  if (changes.node(id).labels.zone != before.zone) LeaveReplicas(changes, id);
}

// Of a node with an identity: what the store says holds now.
void TakeStoredAddress(Changes& changes, NodeId id) {
  const Node& node = changes.node(id);
  const NodeIdentity* stored = changes.state().identity().nodes.Find(node.name);
  if (!stored || stored->address == node.address) return;
  const auto& fields = stored->labelled_fields;
  if (std::find(fields.begin(), fields.end(), "address") == fields.end()) return;
  const std::string address = stored->address;
  changes.EditNode(id, [&](Node& row) { row.address = address; });
}

}  // namespace

bool RunsSomething(const ClusterState& state, const Node& node) {
  const Attempt* holder = state.FindAttempt(node.holder);
  return holder && holder->state != AttemptState::kClaimed;
}

std::string MissingGpus(const Node& node) {
  if (!node.relabelled || node.next_labels.gpu_count >= node.labels.gpu_count) return "";
  return "gpus " + std::to_string(node.next_labels.gpu_count) + " of " + std::to_string(node.labels.gpu_count);
}

void HearLabels(const ClusterState& state, Node& row, const NodeLabels& seen) {
  const bool waits = seen.gpu_count < row.labels.gpu_count || (RunsSomething(state, row) && !(seen == row.labels));
  row.relabelled = waits;
  row.next_labels = waits ? seen : NodeLabels{};
  if (!waits) row.labels = seen;
}

void SettleLabels(Changes& changes, const Node& before) {
  const NodeId id = before.id;
  const Node& node = changes.node(id);
  if (node.relabelled) {
    if (before.relabelled && before.next_labels == node.next_labels) return;  // told again
    NoteLabels(changes, id, NodeLabels(node.next_labels), "when " + ToString(node.holder) + " has released it");
  } else if (!(node.labels == before.labels)) {
    SeeNewLabels(changes, id, before.labels);
  }
}

void ApplyNextLabels(Changes& changes, NodeId id) {
  TakeStoredAddress(changes, id);
  const Node& node = changes.node(id);
  if (!node.relabelled || !MissingGpus(node).empty()) return;
  const NodeLabels before = node.labels;
  changes.EditNode(id, [](Node& row) {
    row.labels = row.next_labels;
    row.relabelled = false;
    row.next_labels = {};
  });
  SeeNewLabels(changes, id, before);
}

}  // namespace glim::core
