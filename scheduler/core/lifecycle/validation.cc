#include "scheduler/core/lifecycle/validation.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/health_act.h"
#include "scheduler/core/lifecycle/reservations.h"
#include "scheduler/core/lifecycle/suspicion.h"
#include "scheduler/core/lifecycle/validation_job.h"
#include "scheduler/core/lifecycle/validation_need.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "sdk/base/cut_text.h"
#include "sdk/base/duration_text.h"

namespace glim::core {
namespace {

constexpr std::int32_t kBadNode = 3;                             // glim-validate's exit code
constexpr std::size_t kFaultBytesMax = 300;                      // of what it says, in a reason and in a row
constexpr std::size_t kTakingJobsPercent = 1;                    // of the nodes, that are measured at once
constexpr std::size_t kWaitingPercent = 10;                      // likewise, of those that take no job before
constexpr std::size_t kTakingJobsLeast = 2, kWaitingLeast = 16;  // as many at least

std::string JobNamed(JobId id) { return "job " + std::to_string(id.value); }

// What glim-validate said last: its first bad line.
std::string FaultTold(const Changes& changes, const Attempt& attempt) {
  for (const Task* task : TasksOf(changes.state(), attempt.id)) {
    for (const Rank& rank : task->ranks) {
      if (!rank.cause.empty()) return CutText(rank.cause, kFaultBytesMax);
    }
  }
  return "something is bad or too slow: glim logs " + std::to_string(attempt.id.job.value) + " says what";
}

// What was asked for after the job had begun is not answered by it.
bool IsAnswered(const Node& node, const Attempt& attempt) { return node.validation.since <= attempt.claimed_at; }

void FoundGood(Changes& changes, NodeId id, const Attempt& attempt) {
  const bool answered = IsAnswered(changes.node(id), attempt);
  changes.EditNode(id, [&](Node& node) {
    node.validation.good_at = changes.now();
    node.validation.bad.clear();
    if (answered) EndNeed(node);
  });
  ClearAll(changes, id);
  changes.Note(HistoryKind::kNodeValidated, attempt.id, id, "good: " + JobNamed(attempt.id.job) + " measured it");
}

// A node that waits goes on waiting behind its cordon: it is measured again when it is given back.
void FoundBad(Changes& changes, NodeId id, const Attempt& attempt) {
  const std::string fault = FaultTold(changes, attempt);
  changes.EditNode(id, [&](Node& node) {
    node.validation.bad = fault;
    if (WaitsToBeMeasured(node)) return;
    EndNeed(node);
  });
  changes.Note(HistoryKind::kNodeValidated, attempt.id, id, "bad: " + fault);
  CordonByHealth(changes, id, "glim-validate, " + JobNamed(attempt.id.job) + ": " + fault, "repair it");
}

void TryAgain(Changes& changes, NodeId id, JobId job_id, const Attempt* attempt) {
  if (changes.node(id).validation.need == ValidationNeed::kNone) return;
  const bool left = attempt && (attempt->outcome == Outcome::kInterrupted || attempt->outcome == Outcome::kCancelled);
  const Duration pause = WaitsToBeMeasured(changes.node(id)) ? kMeasureAgainWaiting
                         : left                              ? kMeasureAgainInterrupted
                                                             : kMeasureAgain;
  changes.EditNode(id, [&](Node& node) { node.validation.again_at = changes.now() + pause; });
  const std::string why = attempt && !attempt->message.empty() ? ": " + attempt->message : "";
  changes.Note(HistoryKind::kNodeToValidate, attempt ? attempt->id : AttemptId{}, id,
               JobNamed(job_id) + " came to nothing" + why + "; the next try is in " + WriteDuration(pause));
}

void Settle(Changes& changes, NodeId id) {
  const JobId job_id = changes.node(id).validation.job;
  const Job* job = changes.state().FindJob(job_id);
  if (job && !IsTerminal(job->state)) return;
  const Attempt* attempt = job ? changes.state().FindAttempt({job_id, job->attempts}) : nullptr;
  changes.EditNode(id, [&](Node& node) { node.validation.last = std::exchange(node.validation.job, {}); });
  if (attempt && attempt->outcome == Outcome::kSucceeded) return FoundGood(changes, id, *attempt);
  const bool bad = attempt && attempt->outcome == Outcome::kFailed && attempt->exit_code == kBadNode;
  return bad ? FoundBad(changes, id, *attempt) : TryAgain(changes, id, job_id, attempt);
}

// How many more may begin, of those that take jobs meanwhile, and of those that do not.
struct Room {
  std::size_t taking = 0, waiting = 0;
  std::size_t& For(const Node& node) { return WaitsToBeMeasured(node) ? waiting : taking; }
};

Room RoomIn(const ClusterState& state) {
  const std::size_t nodes = state.tables().nodes.size();
  Room room{MeasuredAtOnce(nodes, false), MeasuredAtOnce(nodes, true)};
  for (const NodeId id : state.index().measuring) {
    std::size_t& left = room.For(*state.FindNode(id));
    left -= left > 0 ? 1 : 0;
  }
  return room;
}

// A node that was never found good is overdue from the beginning.
TimePoint OverdueFrom(TimePoint good_at, Duration every) { return good_at ? good_at + every : TimePoint{1}; }

bool IsAskedFor(const ValidatePolicy& policy, const Node& node, TimePoint now) {
  switch (node.validation.need) {
    case ValidationNeed::kNone:
    case ValidationNeed::kAsked: return true;
    case ValidationNeed::kOverdue:
      return policy.every.ms > 0 && OverdueFrom(node.validation.good_at, policy.every) <= now;
    case ValidationNeed::kSuspicion: return policy.suspects;
    case ValidationNeed::kRepair: return policy.after_repair;
    case ValidationNeed::kJoin: return policy.on_join;
  }
  return true;
}

std::string OverdueFor(const Changes& changes, NodeId id) {
  const NodeValidation& validation = changes.node(id).validation;
  const std::string every = WriteDuration(changes.policy().health.validate.every);
  const std::string last = validation.good_at ? "it was last found good more than " + every + " ago" : "it never was";
  return last + ": it is measured as soon as nobody needs it";
}

}  // namespace

std::size_t MeasuredAtOnce(std::size_t nodes, bool waiting) {
  const std::size_t share = nodes * (waiting ? kWaitingPercent : kTakingJobsPercent) / 100;
  return std::max(share, waiting ? kWaitingLeast : kTakingJobsLeast);
}

void SettleValidations(Changes& changes) {
  const std::set<NodeId>& measuring = changes.state().index().measuring;
  if (measuring.empty()) return;
  for (const NodeId id : std::vector<NodeId>(measuring.begin(), measuring.end())) Settle(changes, id);
}

void BeginValidations(Changes& changes) {
  const ClusterState& state = changes.state();
  if (state.index().to_measure.empty()) return;
  Room room = RoomIn(state);
  std::vector<NodeId> begin;
  for (const MeasureKey& key : state.index().to_measure) {
    if (room.taking == 0 && room.waiting == 0) break;
    std::size_t& left = room.For(*state.FindNode(key.node));
    if (left == 0 || IsKeptFrom(state, key.node, "")) continue;
    --left;
    begin.push_back(key.node);
  }
  for (const NodeId id : begin) BeginMeasuring(changes, id);
}

void JudgeValidations(Changes& changes) {
  const auto& again = changes.state().index().measure_again;
  while (!again.empty() && again.begin()->first <= changes.now()) {
    changes.EditNode(again.begin()->second, [](Node& node) { node.validation.again_at = {}; });
  }
  const Duration every = changes.policy().health.validate.every;
  const auto& good = changes.state().index().found_good;
  while (every.ms > 0 && !good.empty() && OverdueFrom(good.begin()->first, every) <= changes.now()) {
    const NodeId id = good.begin()->second;
    ToBeMeasured(changes, id, ValidationNeed::kOverdue, OverdueFor(changes, id));
  }
}

TimePoint NextValidation(const ClusterState& state, const Policy& policy) {
  const Index& index = state.index();
  TimePoint wake;
  if (!index.measure_again.empty()) wake = index.measure_again.begin()->first;
  const Duration every = policy.health.validate.every;
  if (every.ms == 0 || index.found_good.empty()) return wake;
  const TimePoint overdue = OverdueFrom(index.found_good.begin()->first, every);
  return !wake || overdue < wake ? overdue : wake;
}

void ReviewValidations(Changes& changes) {
  std::vector<NodeId> free;
  changes.state().tables().nodes.ForEach([&](NodeId id, const Node& node) {
    if (!IsAskedFor(changes.policy().health.validate, node, changes.now())) free.push_back(id);
  });
  for (const NodeId id : free) NotToBeMeasured(changes, id, "not any more: the policy does not ask for it");
}

}  // namespace glim::core
