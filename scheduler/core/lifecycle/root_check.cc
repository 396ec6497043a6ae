#include "scheduler/core/lifecycle/root_check.h"

#include <utility>
#include <vector>

namespace glim::core {
namespace {

constexpr const char* kNotLooked = "its agent has not looked for the checkpoint root yet";

void Judge(Changes& changes, NodeId id, const std::string& right, const std::string& root) {
  const std::string& marker = changes.node(id).root_marker;
  if (marker.empty()) return;  // root_error says why
  const std::string error = marker == right ? "" : root + " is another folder here than on most nodes: is it mounted?";
  const std::string before = changes.node(id).root_error;
  if (error == before) return;
  changes.EditNode(id, [&](Node& node) { node.root_error = error; });
  changes.MarkDirty();
  if (!error.empty() || before != kNotLooked)
    changes.Note(error.empty() ? HistoryKind::kRootSeen : HistoryKind::kRootNotSeen, {}, id, error);
}

}  // namespace

std::string RightMarker(const ClusterState& state) {
  std::string right;
  std::size_t most = 0;
  NodeId first;
  for (const auto& [marker, nodes] : state.index().root_markers) {
    const bool better = nodes.size() > most || (nodes.size() == most && *nodes.begin() < first);
    if (!better) continue;
    right = marker;
    most = nodes.size();
    first = *nodes.begin();
  }
  return right;
}

void JudgeRootsAgain(Changes& changes, const std::string& before) {
  const std::string right = RightMarker(changes.state());
  if (right == before) return;
  std::vector<NodeId> all;
  changes.state().tables().nodes.ForEach([&](NodeId id, const Node&) { all.push_back(id); });
  for (const NodeId id : all) Judge(changes, id, right, changes.policy().checkpoint_root);
}

std::string RootMarkerName(const std::string& cluster_id) { return ".glim-root-" + cluster_id; }

void ForgetRoot(const Policy& policy, Node& node) {
  node.root_marker.clear();
  node.root_error = policy.checkpoint_root.empty() ? "" : kNotLooked;
}

void SeeRoot(Changes& changes, NodeId id, const std::string& marker, const std::string& error) {
  const std::string& root = changes.policy().checkpoint_root;
  if (root.empty() || (marker.empty() && error.empty())) return;
  if (marker == changes.node(id).root_marker && (!marker.empty() || error == changes.node(id).root_error)) return;
  const std::string before = RightMarker(changes.state());
  changes.EditNode(id, [&](Node& node) {
    node.root_marker = marker;
    if (marker.empty()) node.root_error = error;
  });
  if (marker.empty()) {
    changes.Note(HistoryKind::kRootNotSeen, {}, id, error);
    changes.MarkDirty();
  }
  Judge(changes, id, RightMarker(changes.state()), root);
  JudgeRootsAgain(changes, before);
}

}  // namespace glim::core
