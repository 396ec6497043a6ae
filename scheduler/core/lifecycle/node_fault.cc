#include "scheduler/core/lifecycle/node_fault.h"

namespace glim::core {

void SeeNodeFault(Changes& changes, NodeId id, const std::string& fault) {
  const std::string before = changes.node(id).fault;
  if (fault == before) return;
  changes.EditNode(id, [&](Node& node) { node.fault = fault; });
  changes.MarkDirty();
  if (fault.empty()) {
    changes.Note(HistoryKind::kNodeFaultOver, {}, id, before);
  } else if (before.empty()) {
    changes.Note(HistoryKind::kNodeFault, {}, id, fault);
  }
}

}  // namespace glim::core
