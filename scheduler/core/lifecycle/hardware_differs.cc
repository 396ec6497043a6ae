#include "scheduler/core/lifecycle/hardware_differs.h"

#include <memory>
#include <string>

#include "scheduler/core/lifecycle/node_loss.h"
#include "scheduler/core/model/hardware_check.h"

namespace glim::core {
namespace {

// Null: its agent has not told this leader.
std::shared_ptr<const NodeInventory> InventoryOf(const ClusterState& state, NodeId id) {
  const auto live = state.liveness.find(id);
  return live == state.liveness.end() ? nullptr : live->second.inventory;
}

// Of the labels that hold, or will from its release on.
std::string DifferencesOf(const Node& node, const NodeInventory& inventory) {
  return HardwareDifferences(node.relabelled ? node.next_labels : node.labels, inventory);
}

void SetDifference(Changes& changes, NodeId id, const std::string& differs) {
  const std::string before = changes.node(id).hardware_differs;
  if (differs == before) return;
  changes.EditNode(id, [&](Node& node) { node.hardware_differs = differs; });
  changes.MarkDirty();
  if (differs.empty()) {
    changes.Note(HistoryKind::kNodeFaultOver, {}, id, before);
    return;
  }
  changes.Note(HistoryKind::kNodeFault, {}, id, differs);
  GiveUpClaims(changes, id, "node " + changes.node(id).name + " is not what was asked for: " + differs);
}

}  // namespace

void CompareHardware(Changes& changes, NodeId id) {
  const auto inventory = InventoryOf(changes.state(), id);
  const std::string differs = inventory ? DifferencesOf(changes.node(id), *inventory) : "";
  SetDifference(changes, id, differs == changes.node(id).hardware_accepted ? "" : differs);
}

void AcceptHardware(Changes& changes, NodeId id) {
  const Node& node = changes.node(id);
  const auto inventory = InventoryOf(changes.state(), id);
  if (!inventory && node.hardware_differs.empty()) return;
  const std::string accepted = inventory ? DifferencesOf(node, *inventory) : node.hardware_differs;
  changes.EditNode(id, [&](Node& row) { row.hardware_accepted = accepted; });
  SetDifference(changes, id, "");
}

}  // namespace glim::core
