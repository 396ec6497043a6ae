#include "scheduler/core/lifecycle/suspicion.h"

namespace glim::core {

void Suspect(Changes& changes, NodeId id) {
  if (!changes.state().FindNode(id)) return;
  changes.EditNode(id, [&](Node& node) {
    ++node.suspect;
    node.suspect_until = changes.now() + changes.policy().suspect_for;
  });
}

void Clear(Changes& changes, NodeId id) {
  if (!changes.state().FindNode(id)) return;
  changes.EditNode(id, [](Node& node) {
    if (node.suspect > 0) --node.suspect;
    if (node.suspect == 0) node.suspect_until = {};
  });
}

}  // namespace glim::core
