#include "scheduler/core/lifecycle/lemons.h"

#include <algorithm>
#include <cstddef>

#include "sdk/base/duration_text.h"
#include "sdk/base/printable.h"

namespace glim::core {
namespace {

constexpr std::size_t kBlamedOfHang = 2;
constexpr std::size_t kFailuresNamed = 6;
constexpr std::size_t kDeviceShownMax = 40;

// That still count at `at`.
std::size_t CountAt(const Node& node, const LemonPolicy& policy, TimePoint at) {
  return static_cast<std::size_t>(
      std::count_if(node.failures.begin(), node.failures.end(),
                    [&](const NodeFailure& failure) { return failure.at + policy.within > at; }));
}

// Of these, what a finding or a job that stood still explains. A node that was lost has mostly started anew, which may
// be no fault of its own.
std::size_t ExplainedAt(const Node& node, const LemonPolicy& policy, TimePoint at) {
  const std::string loss = ToString(Outcome::kNodeFailure);
  return static_cast<std::size_t>(
      std::count_if(node.failures.begin(), node.failures.end(), [&](const NodeFailure& failure) {
        return failure.at + policy.within > at && (failure.cause != loss || !failure.device.empty());
      }));
}

// `times` 0: never.
bool IsReached(std::size_t count, std::uint32_t times) { return times > 0 && count >= times; }

void SetLemon(Changes& changes, NodeId id, bool lemon) {
  if (changes.node(id).lemon == lemon) return;
  changes.EditNode(id, [&](Node& node) { node.lemon = lemon; });
  const LemonPolicy& policy = changes.policy().health.lemons;
  if (!lemon || policy.avoid_times == 0) return;  // its cordon says all
  changes.Note(HistoryKind::kNodeUnreliable, {}, id,
               FailuresInWords(changes.node(id), policy, changes.now()) + "; jobs of " +
                   std::to_string(policy.large_nodes) + " nodes or more are placed elsewhere while other nodes fit");
}

void JudgeLemon(Changes& changes, NodeId id) {
  const LemonPolicy& policy = changes.policy().health.lemons;
  const std::size_t count = CountAt(changes.node(id), policy, changes.now());
  SetLemon(changes, id, IsReached(count, policy.avoid_times) || IsReached(count, policy.cordon_times));
}

}  // namespace

std::string FailuresInWords(const Node& node, const LemonPolicy& policy, TimePoint now) {
  const std::size_t count = CountAt(node, policy, now);
  std::string text = kFailedByIt + std::to_string(count) + " times within " + RoundedDurationText(policy.within) + ": ";
  const std::size_t named = std::min(count, kFailuresNamed);
  if (named < count) text += std::to_string(count - named) + " earlier ones, ";
  for (std::size_t i = node.failures.size() - named; i < node.failures.size(); ++i) {
    const NodeFailure& failure = node.failures[i];
    text += failure.cause;
    if (!failure.device.empty()) text += " of " + EscapedStart(failure.device, kDeviceShownMax);
    text += " (job " + std::to_string(failure.job.value) + ")";
    if (i + 1 < node.failures.size()) text += ", ";
  }
  return text;
}

bool IsToBeTakenOut(const Node& node, const LemonPolicy& policy, TimePoint now) {
  return IsReached(ExplainedAt(node, policy, now), policy.cordon_times);
}

JobId FailsWith(const Changes& changes, NodeId node) {
  const Attempt* there = changes.state().FindAttempt(changes.node(node).holder);
  const bool runs = there && (there->state == AttemptState::kStarting || there->state == AttemptState::kRunning);
  return runs ? there->id.job : JobId{};
}

void CountFailure(Changes& changes, NodeId id, JobId job, Outcome cause, const std::string& device) {
  if (!job || !changes.state().FindNode(id)) return;
  const std::string word = ToString(cause);
  changes.EditNode(id, [&](Node& node) {
    // One job that fails by one device again and again, before the device is taken out, is one failure of the node.
    std::erase_if(node.failures, [&](const NodeFailure& failure) {
      return !device.empty() && failure.device == device && failure.cause == word && failure.job == job;
    });
    node.failures.push_back({changes.now(), word, device, job});
    if (node.failures.size() > kNodeFailuresKept) node.failures.erase(node.failures.begin());
  });
  JudgeLemon(changes, id);
}

void CountLoss(Changes& changes, NodeId id, JobId job) {
  const Node* node = changes.state().FindNode(id);
  if (node && !node->cordon) CountFailure(changes, id, job, Outcome::kNodeFailure, "");
}

// Every node of a gang waits for the one that hangs, and nobody can tell which that is: of one node or two, each is
// likely enough; of many, most would be counted for nothing. A program that hangs by itself does so wherever it is: one
// job counts once on a node.
void CountHang(Changes& changes, const std::vector<NodeId>& nodes, JobId job) {
  if (nodes.size() > kBlamedOfHang) return;
  const std::string hang = ToString(Outcome::kHang);
  for (const NodeId id : nodes) {
    const std::vector<NodeFailure>& failures = changes.node(id).failures;
    const bool counted = std::any_of(failures.begin(), failures.end(), [&](const NodeFailure& failure) {
      return failure.job == job && failure.cause == hang;
    });
    if (!counted) CountFailure(changes, id, job, Outcome::kHang, "");
  }
}

void GiveBackLemon(Changes& changes, NodeId id) {
  const Node& node = changes.node(id);
  if (node.failures.empty()) return;
  // As it was when the newest failed: the repair may have taken longer than failures count.
  if (IsToBeTakenOut(node, changes.policy().health.lemons, node.failures.back().at)) ForgetFailures(changes, id);
}

void ForgetFailures(Changes& changes, NodeId id) {
  changes.EditNode(id, [](Node& node) {
    node.failures.clear();
    node.lemon = false;
  });
}

void ReviewLemons(Changes& changes) {
  std::vector<NodeId> failed;
  changes.state().tables().nodes.ForEach([&](NodeId id, const Node& node) {
    if (!node.failures.empty()) failed.push_back(id);
  });
  for (const NodeId id : failed) JudgeLemon(changes, id);
}

void EndLemons(Changes& changes) {
  const std::vector<NodeId> lemons(changes.state().index().lemons.begin(), changes.state().index().lemons.end());
  for (const NodeId id : lemons) JudgeLemon(changes, id);
}

TimePoint NextLemonEnd(const ClusterState& state, const Policy& policy) {
  const LemonPolicy& lemons = policy.health.lemons;
  const std::uint32_t first = std::min(lemons.avoid_times, lemons.cordon_times);
  const std::uint32_t times = first > 0 ? first : std::max(lemons.avoid_times, lemons.cordon_times);
  TimePoint next;
  for (const NodeId id : state.index().lemons) {
    const std::vector<NodeFailure>& failures = state.FindNode(id)->failures;
    if (times == 0 || failures.size() < times) continue;  // ReviewLemons has ended it
    const TimePoint end = failures[failures.size() - times].at + lemons.within;
    if (!next || end < next) next = end;
  }
  return next;
}

}  // namespace glim::core
