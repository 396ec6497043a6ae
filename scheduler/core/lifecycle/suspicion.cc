#include "scheduler/core/lifecycle/suspicion.h"

#include "scheduler/core/lifecycle/lemons.h"

namespace glim::core {

void Suspect(Changes& changes, NodeId id, const std::string& why) {
  if (!changes.state().FindNode(id)) return;
  changes.EditNode(id, [&](Node& node) {
    ++node.suspect;
    node.suspect_until = changes.now() + changes.policy().suspect_for;
    node.suspect_why = why;
  });
}

void Clear(Changes& changes, NodeId id) {
  if (!changes.state().FindNode(id)) return;
  changes.EditNode(id, [](Node& node) {
    if (node.suspect > 0) --node.suspect;
    if (node.suspect > 0) return;
    node.suspect_until = {};
    node.suspect_why.clear();
  });
}

void ClearAll(Changes& changes, NodeId id) {
  if (!changes.state().FindNode(id)) return;
  changes.EditNode(id, [](Node& node) {
    node.suspect = 0;
    node.suspect_until = {};
    node.suspect_why.clear();
  });
  ForgetHangs(changes, id);
}

}  // namespace glim::core
