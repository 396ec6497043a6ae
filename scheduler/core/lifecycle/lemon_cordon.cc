#include "scheduler/core/lifecycle/lemon_cordon.h"

#include <set>
#include <string>
#include <vector>

#include "scheduler/core/lifecycle/health_act.h"
#include "scheduler/core/lifecycle/lemons.h"
#include "scheduler/core/model/cordon.h"

namespace glim::core {
namespace {

// One of the failures has taken it out: the whole list says more.
void SayWhyAgain(Changes& changes, NodeId id, const std::string& reason) {
  if (changes.node(id).cordon->reason.starts_with(kFailedByIt)) return;
  changes.EditNode(id, [&](Node& node) { node.cordon->reason = reason; });
  changes.Note(HistoryKind::kNodeCordoned, changes.node(id).holder, id, CordonInWords(*changes.node(id).cordon));
}

void TakeOutLemon(Changes& changes, NodeId id) {
  const Node& node = changes.node(id);
  const LemonPolicy& policy = changes.policy().health.lemons;
  if (!IsToBeTakenOut(node, policy, changes.now())) return;
  const std::string failures = FailuresInWords(node, policy, changes.now());
  constexpr char kRepair[] = "validate it, repair or replace what failed";
  if (node.cordon && node.cordon->by == kByHealth) {
    return SayWhyAgain(changes, id, ReasonOfHealth(node.name, failures, kRepair));
  }
  CordonByHealth(changes, id, failures, kRepair);
}

}  // namespace

void TakeOutLemons(Changes& changes) {
  const std::set<NodeId>& lemons = changes.state().index().lemons;
  if (lemons.empty()) return;
  for (const NodeId id : std::vector<NodeId>(lemons.begin(), lemons.end())) TakeOutLemon(changes, id);
}

}  // namespace glim::core
