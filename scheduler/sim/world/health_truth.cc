#include "scheduler/sim/world/health_truth.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace glim::sim {

using core::HistoryKind;
using core::NodeId;

namespace {

constexpr std::int64_t kOutXids[] = {44, 48, 61, 62, 69, 79, 119};

// None: ""
std::string MarkIn(const std::string& text) {
  const std::size_t begin = text.find("[h");
  const std::size_t end = begin == std::string::npos ? begin : text.find(']', begin);
  return end == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
}

}  // namespace

std::string MarkOf(NodeId node, const std::string& boot, std::uint64_t seq) {
  return "[h" + std::to_string(node.value) + "." + boot + "." + std::to_string(seq) + "]";
}

bool HealthTruth::TakesOut(const std::string& check, std::int64_t code) {
  if (check == "memory_ecc_uncorrected" || check == "machine_check") return true;
  return check == "xid" && std::find(std::begin(kOutXids), std::end(kOutXids), code) != std::end(kOutXids);
}

void HealthTruth::Committed(const std::vector<core::Mutation>& mutations) {
  for (const core::Mutation& mutation : mutations) {
    if (const auto* note = std::get_if<core::HistoryEntry>(&mutation)) SeeNote(*note);
  }
}

void HealthTruth::SeeNote(const core::HistoryEntry& note) {
  const std::string mark = MarkIn(note.text);
  if (mark.empty()) return;
  bool first = true;
  if (note.kind == HistoryKind::kHealthEvent) first = noted_.insert(mark).second;
  if (note.kind == HistoryKind::kNodeCordoned) first = took_out_.insert(mark).second;
  if (note.kind == HistoryKind::kAttemptStopping) {
    const core::AttemptId attempt{note.job, note.attempt};
    first = ended_.emplace(mark, attempt).first->second == attempt;
  }
  if (!first) violation_("a health event acted twice: " + std::string(core::ToString(note.kind)) + " " + note.text);
}

void HealthTruth::Answered(const core::Event& event, const core::Reply& reply, const core::ClusterState& state) {
  const auto give_back = [&](const std::string& name) {
    const auto node = state.index().node_by_name.find(name);
    if (node != state.index().node_by_name.end()) out_.erase(node->second);
  };
  if (std::holds_alternative<core::LeaderStarted>(event.what)) sessions_.clear();
  if (const auto* report = std::get_if<core::NodeReported>(&event.what)) Hear(*report);
  if (const auto* gone = std::get_if<core::NodeDisconnected>(&event.what)) {
    const auto session = sessions_.find(gone->node);
    if (session != sessions_.end() && session->second == gone->session) sessions_.erase(session);
  }
  if (!reply.status.ok()) return;
  if (const auto* hello = std::get_if<core::NodeConnected>(&event.what)) sessions_[reply.node] = hello->session;
  if (const auto* back = std::get_if<core::UncordonNode>(&event.what)) give_back(back->name);
  // Theirs is in its place from then on, and ends when they said.
  const auto* theirs = std::get_if<core::CordonNode>(&event.what);
  if (theirs != nullptr && theirs->lasts.ms > 0) give_back(theirs->name);
}

void HealthTruth::Hear(const core::NodeReported& report) {
  const auto session = sessions_.find(report.node);
  if (session == sessions_.end() || session->second != report.session) return;
  for (const core::HealthReading& found : report.health_events) {
    const bool is_new = heard_.emplace(report.node, report.health_boot, found.seq).second;
    if (is_new && TakesOut(found.check, found.code)) out_.insert(report.node);
  }
}

void HealthTruth::SeeFailures(const core::Node& node, const core::LemonPolicy& policy) {
  if (node.lemon && node.failures.empty()) violation_("node " + node.name + " is a lemon, and failed no attempt");
  if (node.failures.empty()) return;
  const TimePoint newest = node.failures.back().at;
  if (std::exchange(failed_[node.id], newest) == newest) return;
  std::set<std::string> hung;  // whose jobs
  std::size_t count = 0;
  for (const core::NodeFailure& failure : node.failures) {
    if (failure.at + policy.within <= newest) continue;
    if (failure.cause == "hang") hung.insert(failure.user);
    const bool is_explained = failure.cause != "node_failure" || !failure.device.empty();
    count += failure.cause != "hang" && is_explained ? 1 : 0;
  }
  if (hung.size() > 1) count += hung.size();
  if (policy.cordon_times > 0 && count >= policy.cordon_times) out_.insert(node.id);
}

void HealthTruth::Check(const core::ClusterState& state, const core::Policy& policy) {
  state.tables().nodes.ForEach([&](NodeId, const core::Node& node) { SeeFailures(node, policy.health.lemons); });
  for (const NodeId id : out_) {
    const core::Node* node = state.FindNode(id);
    if (node && !node->cordon) violation_("node " + node->name + " is out by its health, and takes jobs");
  }
}

}  // namespace glim::sim
