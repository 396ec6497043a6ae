#include "scheduler/core/lifecycle/saves_removed.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "sdk/base/size_text.h"

namespace glim::core {
void NoteSavesRemoved(Changes& changes, const SavesRemoved& event) {
  const Node* node = changes.state().FindNode(event.node);
  const std::string name = node ? node->name : "a node that is gone";
  const std::string where = event.shared ? "in the checkpoint root, by " + name : "on " + name;
  for (const auto& [job, bytes] : event.jobs) {
    changes.Note(HistoryKind::kSavesRemoved, {job, 0}, node ? event.node : NodeId{},
                 RoundedSizeText(static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes))) + " " + where +
                     ", as the policy's checkpoint_retention says");
  }
}

}  // namespace glim::core
