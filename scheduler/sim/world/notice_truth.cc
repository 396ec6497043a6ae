#include "scheduler/sim/world/notice_truth.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

namespace glim::sim {
namespace {

using core::AttemptId;
using core::TaskId;

// Orders overtake each other and are late, and clocks run at different speeds. A stream that ends may take an order
// with it, and a report's period counts then.
constexpr Duration kNoticeSlack = Seconds(8), kBreakSlack = Seconds(6);
// The same, for each of the nodes, and what a report needs to be taken in.
constexpr Duration kStopSlack = Seconds(45);

}  // namespace

void NoticeTruth::Told(TaskId task, std::uint32_t agreement, TimePoint now) {
  told_.try_emplace({task, agreement}, now);
}

void NoticeTruth::Committed(const std::vector<core::Mutation>& mutations, TimePoint now) {
  std::set<AttemptId> drained;
  for (const core::Mutation& mutation : mutations) {
    const auto* entry = std::get_if<core::HistoryEntry>(&mutation);
    if (entry && entry->kind == core::HistoryKind::kJobPriority) left_out_.insert(entry->job);
    if (entry && entry->kind == core::HistoryKind::kNodeCordoned) drained.insert({entry->job, entry->attempt});
  }
  for (const core::Mutation& mutation : mutations) {
    const auto* attempt = std::get_if<std::shared_ptr<const core::Attempt>>(&mutation);
    if (attempt) See(**attempt, drained.contains((*attempt)->id), now);
  }
}

void NoticeTruth::See(const core::Attempt& row, bool drained, TimePoint now) {
  for (const core::Agreement& agreement : row.agreements) {
    const Duration grace = agreement.deadline - agreement.requested_at;
    Given& given = given_.try_emplace({row.id, agreement.id}, Given{grace, now, agreement.deadline}).first->second;
    // Graces of different leaders have different clocks: what is compared is of one.
    if (drained && agreement.deadline < given.deadline)
      given.grace = given.grace + (agreement.deadline - given.deadline);
    given.deadline = agreement.deadline;
  }
  if (row.state == core::AttemptState::kEnded) {
    stopped_.erase(row.id);
    given_.erase(given_.lower_bound({row.id, 0}), given_.upper_bound({row.id, ~std::uint32_t{0}}));
    told_.erase(told_.lower_bound({{row.id, 0}, 0}), told_.upper_bound({{row.id, ~std::uint32_t{0}}, 0}));
    return;
  }
  if (row.stop == core::StopCause::kNone || !stopped_.emplace(row.id, now).second) return;
  if (row.stop == core::StopCause::kDeadline && !left_out_.contains(row.id.job)) CheckNotice(row, now);
}

void NoticeTruth::CheckNotice(const core::Attempt& row, TimePoint now) {
  const core::Agreement* open = row.open_agreement();
  if (open == nullptr) return violation_("attempt " + ToString(row.id) + " was killed and had been asked for nothing");
  const Given& given = given_.at({row.id, open->id});
  const Duration grace = std::min(given.grace, open->deadline - open->requested_at);
  for (std::uint32_t i = 0; i < row.nodes.size(); ++i) {
    const TaskId task{row.id, i};
    const Duration slack = kNoticeSlack + grace / 50 + kBreakSlack * streams_.Breaks(row.nodes[i], given.at);
    if (!is_alive_(task) || grace <= slack) continue;
    const auto told = told_.find({task, open->id});
    if (told != told_.end() && now - told->second + slack >= grace) continue;
    const std::string when =
        told == told_.end() ? "never told" : "told " + std::to_string((now - told->second).ms) + " ms before";
    violation_("attempt " + ToString(row.id) + " was killed with a grace of " + std::to_string(grace.ms) +
               " ms, and its node " + std::to_string(i) + " was " + when);
    return;
  }
}

void NoticeTruth::CheckStops(const core::ClusterState& state, core::NodeId id, const std::vector<TaskId>& running,
                             const core::Policy& policy, TimePoint calm_since, TimePoint now) {
  const core::Node* node = state.FindNode(id);
  if (!node || node->state != core::NodeState::kReady || !streams_.IsUp(id)) return;
  const auto stopped = stopped_.find(node->holder);
  if (stopped == stopped_.end()) return;
  const bool is_there =
      std::any_of(running.begin(), running.end(), [&](TaskId task) { return task.attempt == node->holder; });
  const core::Attempt* attempt = state.FindAttempt(node->holder);
  if (!is_there || !attempt) return;
  const TimePoint since = std::max(stopped->second, calm_since);
  if (since >= now) return;  // the store is still away
  Duration heard = now - since;
  for (const core::NodeId one : attempt->nodes) heard = heard - streams_.Away(one, since, now);
  if (heard > policy.kill_after_term + policy.release_max + kStopSlack) {
    violation_("attempt " + ToString(attempt->id) + " was stopped, is still there after " + std::to_string(heard.ms) +
               " ms, and node " + node->name + " is not taken out");
  }
}

}  // namespace glim::sim
