#include "scheduler/core/lifecycle/lemons.h"

#include <algorithm>
#include <cstddef>
#include <map>

#include "sdk/base/duration_text.h"
#include "sdk/base/printable.h"

namespace glim::core {
namespace {

constexpr std::size_t kBlamedOfHang = 2;
constexpr std::size_t kUsersOfHangs = 2;  // at least
constexpr std::size_t kFailuresNamed = 6;
constexpr std::size_t kDeviceShownMax = 40;

bool IsHang(const NodeFailure& failure) { return failure.cause == ToString(Outcome::kHang); }

// That still count at `at`, the newest last. That a job stood still is its program's word, which may hang by itself
// wherever it is: of one user's jobs the newest counts, and none while no other user's stood still there.
std::vector<const NodeFailure*> CountedAt(const Node& node, const LemonPolicy& policy, TimePoint at) {
  std::map<std::string, const NodeFailure*> hangs;  // of each user
  for (const NodeFailure& failure : node.failures) {
    if (failure.at + policy.within > at && IsHang(failure)) hangs[failure.user] = &failure;
  }
  std::vector<const NodeFailure*> counted;
  counted.reserve(node.failures.size());
  for (const NodeFailure& failure : node.failures) {
    if (failure.at + policy.within <= at) continue;
    if (IsHang(failure) && (hangs.size() < kUsersOfHangs || hangs[failure.user] != &failure)) continue;
    counted.push_back(&failure);
  }
  return counted;
}

std::size_t CountAt(const Node& node, const LemonPolicy& policy, TimePoint at) {
  return CountedAt(node, policy, at).size();
}

// Of these, what a finding or jobs that stood still explain. A node that was lost has mostly started anew, which may be
// no fault of its own.
std::size_t ExplainedAt(const Node& node, const LemonPolicy& policy, TimePoint at) {
  const std::string loss = ToString(Outcome::kNodeFailure);
  const std::vector<const NodeFailure*> counted = CountedAt(node, policy, at);
  return static_cast<std::size_t>(std::count_if(counted.begin(), counted.end(), [&](const NodeFailure* failure) {
    return failure->cause != loss || !failure->device.empty();
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
  const std::vector<const NodeFailure*> counted = CountedAt(node, policy, now);
  const std::size_t count = counted.size();
  std::string text = kFailedByIt + std::to_string(count) + " times within " + RoundedDurationText(policy.within) + ": ";
  const std::size_t named = std::min(count, kFailuresNamed);
  if (named < count) text += std::to_string(count - named) + " earlier ones, ";
  for (std::size_t i = count - named; i < count; ++i) {
    const NodeFailure& failure = *counted[i];
    text += failure.cause;
    if (!failure.device.empty()) text += " of " + EscapedStart(failure.device, kDeviceShownMax);
    text += " (job " + std::to_string(failure.job.value) + ")";
    if (i + 1 < count) text += ", ";
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
  const std::string user = changes.job(job).user;
  changes.EditNode(id, [&](Node& node) {
    // One job that fails by one device again and again, before the device is taken out, is one failure of the node.
    std::erase_if(node.failures, [&](const NodeFailure& failure) {
      return !device.empty() && failure.device == device && failure.cause == word && failure.job == job;
    });
    node.failures.push_back({changes.now(), word, device, job, user});
    if (node.failures.size() > kNodeFailuresKept) node.failures.erase(node.failures.begin());
  });
  JudgeLemon(changes, id);
}

void CountLoss(Changes& changes, NodeId id, JobId job) {
  const Node* node = changes.state().FindNode(id);
  if (node && !node->cordon) CountFailure(changes, id, job, Outcome::kNodeFailure, "");
}

// Every node of a gang waits for the one that hangs, and nobody can tell which that is: of one node or two, each is
// likely enough; of many, most would be counted for nothing. Of a user the newest is kept alone, so that programs which
// hang push out nothing else.
void CountHang(Changes& changes, const std::vector<NodeId>& nodes, JobId job) {
  if (nodes.size() > kBlamedOfHang) return;
  const std::string user = changes.job(job).user;
  for (const NodeId id : nodes) {
    changes.EditNode(id, [&](Node& node) {
      std::erase_if(node.failures, [&](const NodeFailure& failure) { return IsHang(failure) && failure.user == user; });
    });
    CountFailure(changes, id, job, Outcome::kHang, "");
  }
}

void ForgetHangs(Changes& changes, NodeId id) {
  if (std::none_of(changes.node(id).failures.begin(), changes.node(id).failures.end(), IsHang)) return;
  changes.EditNode(id, [](Node& node) { std::erase_if(node.failures, IsHang); });
  JudgeLemon(changes, id);
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
  if (times == 0) return next;  // ReviewLemons has ended them all
  for (const NodeId id : state.index().lemons) {
    const Node& node = *state.FindNode(id);
    for (const NodeFailure& failure : node.failures) {  // the oldest first
      const TimePoint end = failure.at + lemons.within;
      if (CountAt(node, lemons, end) >= times) continue;
      if (!next || end < next) next = end;
      break;
    }
  }
  return next;
}

}  // namespace glim::core
