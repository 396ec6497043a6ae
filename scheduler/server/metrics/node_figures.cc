// SnapshotGauges: nodes, and what keeps jobs off them.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/metrics/health_figures.h"
#include "scheduler/server/metrics/snapshot_gauges.h"

namespace glim::server {
namespace {

const char* CordonedFor(const core::Cordon& cordon) {
  return !cordon.drain ? "cordoned" : cordon.drained ? "drained" : "draining";
}

// An operator has taken it out, nobody is there, and it is switched off.
bool IsOff(const core::Node& node) {
  const bool unheard = node.state == core::NodeState::kSilent || node.state == core::NodeState::kLost;
  return unheard && node.cordon && !IsOutByHealth(node) && !node.holder;
}

// The main reason why no job starts on the node; null: one may, as far as the node goes.
const char* OutFor(const core::Node& node, TimePoint now) {
  if (node.state == core::NodeState::kQuarantined && !node.stuck_tasks.empty()) return "stuck_task";
  if (IsOff(node)) return CordonedFor(*node.cordon);
  if (node.state != core::NodeState::kReady) return core::ToString(node.state);
  if (IsOutByHealth(node)) return "health";
  if (node.cordon) return CordonedFor(*node.cordon);
  if (!node.fault.empty()) return "fault";
  if (!node.hardware_differs.empty()) return "labels_differ";
  if (!node.orphans.empty()) return "orphan";
  if (!node.stale_tasks.empty()) return "stale_task";
  if (!core::IsSound(node)) return "other";
  if (core::WaitsToBeMeasured(node)) return "unmeasured";
  return core::IsSuspect(node, now) ? "suspect" : nullptr;
}

}  // namespace

void AddNodeFigures(const Snapshot& snapshot, TimePoint now, Families* families) {
  auto nodes = GaugeFamily("glim_nodes", "Registered nodes, by zone and state.");
  for (const auto& [key, count] : snapshot.counts->nodes) {
    AddValue(&nodes, {{"zone", key.first}, {"state", core::ToString(key.second)}}, static_cast<double>(count));
  }
  families->push_back(std::move(nodes));

  std::map<std::string, std::uint64_t> out;
  std::vector<double> ages;
  double connected = 0, exposed = 0, replicas = 0, lemons = 0, overdue = 0;
  std::int64_t at_risk_gpu_ms = 0;
  snapshot.tables.nodes.ForEach([&](core::NodeId id, const core::Node& node) {
    if (const char* const reason = OutFor(node, now)) ++out[reason];
    exposed += node.exposed_sockets.empty() ? 0 : 1;
    replicas += node.replica.empty() ? 0 : 1;
    lemons += node.lemon ? 1 : 0;
    overdue += node.validation.need == core::ValidationNeed::kOverdue ? 1 : 0;
    at_risk_gpu_ms += node.at_risk_gpu_ms;
    if (node.use == core::Use::kProductive) at_risk_gpu_ms += (now - node.use_since).ms * node.labels.gpu_count;
    const auto heard = snapshot.liveness->find(id);
    if (heard == snapshot.liveness->end()) return;
    connected += heard->second.session != 0 ? 1 : 0;
    if (node.state == core::NodeState::kLost) return;
    ages.push_back(static_cast<double>(std::max<std::int64_t>(0, (now - heard->second.last_heard).ms)) / 1000.0);
  });
  auto reasons = GaugeFamily("glim_nodes_out",
                             "Nodes on which no job starts, by the main reason; suspect ones are left out only while "
                             "others fit.");
  for (const auto& [reason, count] : out) AddValue(&reasons, {{"reason", reason}}, static_cast<double>(count));
  families->push_back(std::move(reasons));
  families->push_back(OneGauge("glim_nodes_unreliable",
                               "Nodes by whose fault jobs failed again and again: left out for large jobs while others "
                               "fit, or taken out.",
                               lemons));
  double reserved = 0;
  snapshot.tables.reservations.ForEach([&](const std::string&, const core::Reservation& row) {
    if (row.begun_at) reserved += static_cast<double>(row.nodes.size());
  });
  families->push_back(OneGauge("glim_nodes_reserved", "Nodes of reservations that are in force.", reserved));
  families->push_back(
      OneGauge("glim_agents_connected", "Nodes whose agent has a stream to this scheduler.", connected));
  families->push_back(OneGauge("glim_nodes_with_exposed_sockets",
                               "Nodes where programs of root listen on abstract sockets, which tasks reach.", exposed));
  families->push_back(
      OneGauge("glim_nodes_with_replicas", "Nodes whose glim-replica takes copies of saves.", replicas));
  families->push_back(OneGauge("glim_nodes_validation_overdue",
                               "Nodes that were last found good longer ago than the policy asks for, and that are "
                               "measured as soon as nobody needs them.",
                               overdue));
  families->push_back(SpreadFamily("glim_node_heartbeat_age_seconds",
                                   "How long ago nodes that are not lost were last heard; up to a second too much.",
                                   std::move(ages)));
  families->push_back(OneGauge("glim_at_risk_gpu_seconds",
                               "Productive GPU time of running attempts since their last durable saves: what would be "
                               "lost if all of them were killed now.",
                               static_cast<double>(at_risk_gpu_ms) / 1000.0));
}

}  // namespace glim::server
