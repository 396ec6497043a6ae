#include "scheduler/core/lifecycle/node_refused.h"

#include "scheduler/core/lifecycle/heard.h"
#include "scheduler/core/lifecycle/node_loss.h"
#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {

void ApplyRefused(Changes& changes, const NodeRefused& event) {
  const auto known = changes.state().index().node_by_name.find(event.name);
  if (known == changes.state().index().node_by_name.end()) return;
  const NodeId id = known->second;
  const Node& node = changes.node(id);
  Liveness& live = changes.liveness(id);
  // Another machine, or one whose agent of before is still connected: that one speaks for the node.
  if (node.machine_id != event.machine_id || live.session != 0) return;
  if (!live.refused_since) live.refused_since = HeardAt(changes.state(), id);
  live.last_heard = changes.now();
  changes.ForgetSilence();
  if (node.state == NodeState::kQuarantined) return;
  if (node.state == NodeState::kRefused && node.message == event.why) return;
  changes.EditNode(id, [&](Node& row) {
    row.state = NodeState::kRefused;
    row.message = event.why;
  });
  if (Planted(PlantedBug::kRefusedMeansLost)) Abandon(changes, id, event.why);
  SettleSavesOn(changes, id);
  changes.Note(HistoryKind::kNodeRefused, {}, id, event.why);
  // An upgrade may be days away, and a refused node is never lost: whoever only waits for it looks elsewhere.
  GiveUpClaims(changes, id, "node " + changes.node(id).name + " is refused: " + event.why);
}

}  // namespace glim::core
