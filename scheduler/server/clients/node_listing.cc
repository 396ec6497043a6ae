#include "scheduler/server/clients/node_listing.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/convert/page_limits.h"
#include "scheduler/server/convert/row_convert.h"

namespace glim::server {
namespace {

constexpr char kNodeToken[] = "1.";  // of this form of token

// What people are shown of a ready node that an operator has taken out.
constexpr std::array<std::string_view, 3> kTakenOut = {"cordoned", "draining", "drained"};

std::string_view TakenOutWord(const core::Node& node) {
  if (!node.cordon || node.state != core::NodeState::kReady) return "";
  return !node.cordon->drain ? kTakenOut[0] : node.cordon->drained ? kTakenOut[2] : kTakenOut[1];
}

struct States {
  std::set<core::NodeState> states;
  std::set<std::string_view> taken_out;  // of kTakenOut

  bool Have(const core::Node& node) const {
    const bool all = states.empty() && taken_out.empty();
    return all || states.contains(node.state) || taken_out.contains(TakenOutWord(node));
  }
};

Result<States> StatesOf(const v1::ListNodesRequest& request) {
  States states;
  for (const std::string& word : request.states()) {
    if (const auto* const out = std::find(kTakenOut.begin(), kTakenOut.end(), word); out != kTakenOut.end()) {
      states.taken_out.insert(*out);
      continue;
    }
    const std::optional<core::NodeState> state = core::FromWord<core::NodeState>(word);
    if (!state) {
      return InvalidArgument("states", "'" + word + "' is no state of a node",
                             "use ready, silent, lost, quarantined, refused, cordoned, draining or drained");
    }
    states.states.insert(*state);
  }
  return states;
}

bool Matches(const core::Node& node, const v1::ListNodesRequest& request, const States& states) {
  return (request.pool().empty() || node.labels.pool == request.pool()) &&
         (request.zone().empty() || node.labels.zone == request.zone()) && states.Have(node) &&
         node.name.find(request.name()) != std::string::npos && (!request.cordoned() || node.cordon);
}

}  // namespace

Result<v1::ListNodesResponse> ListNodes(const Snapshot& snapshot, const v1::ListNodesRequest& request) {
  if (request.page_size() > kPageMax) {
    return InvalidArgument("page_size", std::to_string(request.page_size()) + " is too much", "use at most 1000");
  }
  const std::string& token = request.page_token();
  if (!token.empty() && !token.starts_with(kNodeToken)) {
    return InvalidArgument("page_token", "is not one of ours", "send next_page_token as it was given, or nothing");
  }
  const auto states = StatesOf(request);
  if (!states.ok()) return states.status();
  const std::string after = token.empty() ? "" : token.substr(sizeof kNodeToken - 1);
  const bool paged = request.page_size() > 0;
  v1::ListNodesResponse response;
  std::size_t bytes = 0;
  snapshot.tables.node_ids.VisitFrom(after, [&](const std::string& name, core::NodeId id) {
    const core::Node& node = *snapshot.tables.nodes.Find(id);
    if (name == after || !Matches(node, request, *states)) return true;
    const bool full = static_cast<std::uint32_t>(response.nodes_size()) >= request.page_size() || bytes > kPageBytesMax;
    if (paged && full) {
      response.set_next_page_token(kNodeToken + response.nodes(response.nodes_size() - 1).name());
      return false;
    }
    v1::Node* const out = response.add_nodes();
    NodeToProto(snapshot, node, node.name == request.name() ? NodeShown::kWhole : NodeShown::kRow, out);
    if (paged) bytes += out->ByteSizeLong();
    return true;
  });
  return response;
}

}  // namespace glim::server
