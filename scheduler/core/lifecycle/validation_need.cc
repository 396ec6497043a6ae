#include "scheduler/core/lifecycle/validation_need.h"

namespace glim::core {

void ToBeMeasured(Changes& changes, NodeId id, ValidationNeed need, const std::string& why) {
  const Node* node = changes.state().FindNode(id);
  if (!node || node->validation.need >= need) return;
  changes.EditNode(id, [&](Node& row) {
    row.validation.need = need;
    row.validation.since = changes.now();
    row.validation.again_at = {};
  });
  changes.Note(HistoryKind::kNodeToValidate, {}, id, why);
  changes.MarkDirty();  // a node that may be measured begins with that behind a pass
}

void EndNeed(Node& node) {
  node.validation.need = ValidationNeed::kNone;
  node.validation.since = node.validation.again_at = {};
  node.validation.full = false;
  node.validation.folders.clear();
}

void NotToBeMeasured(Changes& changes, NodeId id, const std::string& why) {
  const Node* node = changes.state().FindNode(id);
  if (!node || node->validation.need == ValidationNeed::kNone) return;
  changes.EditNode(id, EndNeed);
  changes.Note(HistoryKind::kNodeToValidate, {}, id, why);
}

}  // namespace glim::core
