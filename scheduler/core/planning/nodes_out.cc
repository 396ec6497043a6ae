#include "scheduler/core/planning/nodes_out.h"

#include <algorithm>

#include "scheduler/core/model/cordon.h"
#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/health_rules.h"

namespace glim::core {
namespace {

// As counted ("2 silent"), and as said of one ("n4 is silent").
struct Words {
  const char* counted;
  const char* said;
};
constexpr std::array<Words, kWhysOut> kWords = {{{"quarantined", "is quarantined"},
                                                 {"with a fault", "has a fault"},
                                                 {"unhealthy", "is unhealthy"},
                                                 {"without the checkpoint root", "does not see the checkpoint root"},
                                                 {"cordoned", "is"},
                                                 {"refused", "is refused"},
                                                 {"lost", "is lost"},
                                                 {"silent", "is silent"},
                                                 {"with tasks that are to go", "has tasks that are to go"},
                                                 {"waiting to be measured", "waits to be measured"}}};

WhyOut WhyOf(const Node& node) {
  if (node.cordon) return WhyOut::kCordoned;
  switch (node.state) {
    case NodeState::kQuarantined: return WhyOut::kQuarantined;
    case NodeState::kRefused: return WhyOut::kRefused;
    case NodeState::kLost: return WhyOut::kLost;
    case NodeState::kSilent: return WhyOut::kSilent;
    case NodeState::kReady: break;
  }
  if (!node.fault.empty() || !node.hardware_differs.empty()) return WhyOut::kFault;
  if (KeptAwayBy(node)) return WhyOut::kUnhealthy;
  if (!node.root_error.empty()) return WhyOut::kNoRoot;
  return IsSound(node) ? WhyOut::kUnmeasured : WhyOut::kLeftTasks;
}

// "it joins, and job 17 measures it"
std::string MeasuringInWords(const Node& node) {
  const NodeValidation& validation = node.validation;
  const std::string why = validation.need == ValidationNeed::kJoin    ? "it joins"
                          : validation.need == ValidationNeed::kAsked ? "an operator asked for it"
                                                                      : "it was out by health";
  return validation.job ? why + ", and job " + std::to_string(validation.job.value) + " measures it" : why;
}

// "is lost: nothing heard from its agent", "is cordoned by ann: a new fan"
std::string SaidOf(const Node& node, WhyOut why) {
  const std::string said = kWords[static_cast<std::size_t>(why)].said;
  if (why == WhyOut::kCordoned) return said + " " + CordonInWords(*node.cordon);
  if (why == WhyOut::kUnhealthy) return said + ": " + HealthInWords(*KeptAwayBy(node));
  if (why == WhyOut::kUnmeasured) return said + ": " + MeasuringInWords(node);
  const std::string& fault = node.fault.empty() ? node.hardware_differs : node.fault;
  const std::string& note = why == WhyOut::kFault ? fault : why == WhyOut::kNoRoot ? node.root_error : node.message;
  return note.empty() ? said : said + ": " + note;
}

}  // namespace

void NodesOut::Add(const PassNode& node) {
  if (IsUsable(*node.row)) return;
  const WhyOut why = WhyOf(*node.row);
  ++all;
  ++by_reason[static_cast<std::size_t>(why)];
  ++by_zone[node.zone];
  if (!example || why < WhyOf(*example)) example = node.row;
}

NodesOut OutOf(const PoolView& view, const AskView& ask) {
  NodesOut out;
  for (const std::uint32_t i : ask.nodes) out.Add(view.nodes[i]);
  return out;
}

std::size_t MostTogether(const AskView& ask, const NodesOut& out, const JobSpec& spec, const Policy& policy,
                         const ClusterState& state) {
  if (out.all == 0) return ask.Largest(spec, policy);
  const std::vector<std::string>& zone_names = state.layouts().zone_names;
  std::map<std::string, std::size_t> left;
  for (const auto& [zone, nodes] : ask.by_zone) {
    const auto gone = out.by_zone.find(zone);
    left[zone_names[zone]] = nodes - (gone == out.by_zone.end() ? 0 : gone->second);
  }
  const std::size_t in_zone = MostInOneZone(left);
  return ask.MayCross(spec, policy) ? std::max(in_zone, MostOverALink(left, state.accounts().links)) : in_zone;
}

std::string OutInWords(const NodesOut& out) {
  std::string text;
  for (std::size_t i = 0; i < kWhysOut; ++i) {
    if (out.by_reason[i] == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(out.by_reason[i]) + " " + kWords[i].counted;
  }
  return text + "; node " + out.example->name + " " + SaidOf(*out.example, WhyOf(*out.example));
}

}  // namespace glim::core
