// What nodes and ranks of a traced cluster do: start, restore, end, answer an interrupt, fail.
#include <algorithm>
#include <utility>

#include "scheduler/sim/trace/trace_world.h"

namespace glim::sim {

using core::Attempt;
using core::AttemptState;
using core::ObservedTask;
using core::Rank;
using core::TaskPhase;

void TraceWorld::See(const Attempt& attempt) {
  const std::size_t row = RowOf(attempt.id.job);
  Traced& traced = traced_[row];
  if (!attempt.started_at) return;  // it waits for its nodes, or has given them up
  if (traced.attempt != attempt.id) Started(row, attempt);
  if (!traced.holds) return;
  if (attempt.state == AttemptState::kEnded) return Ended(row, attempt);
  if (traced.answered) return;
  if (attempt.stop != core::StopCause::kNone) return AnswerStop(row, attempt);
  if (attempt.open_agreement()) AnswerInterrupt(row, attempt);
}

void TraceWorld::Started(std::size_t row, const Attempt& attempt) {
  Traced& traced = traced_[row];
  if (traced.holds) Violation("attempt " + core::ToString(attempt.id) + " starts beside another of its job");
  Accrue();
  progressed_at_ = now_;
  traced.attempt = attempt.id;
  traced.holds = true;
  traced.answered = traced.thrown_back = false;
  traced.started = now_;
  traced.restored = {};
  traced.restore = {};
  if (traced.was_cut_short) {
    traced.restore = attempt.nodes.size() == 1 ? options_.restore_small : options_.restore_large;
  }
  estimates_.Started(row, now_);
  Duration& longest = outcome_.jobs[row].longest_wait;
  longest = std::max(longest, now_ - traced.waits_since);
  if (traced.promised.ms > 0 && now_ - traced.waits_since > traced.promised) outcome_.jobs[row].promise_broken = true;
  nodes_held_ += static_cast<std::int64_t>(attempt.nodes.size());
  if (attempt.zones.size() > 1)
    outcome_.cross_zone_allocations_max = std::max(outcome_.cross_zone_allocations_max, ++cross_zone_allocations_);
  for (std::uint32_t i = 0; i < attempt.nodes.size(); ++i) {
    SimNode& node = nodes_[attempt.nodes[i].value - 1];
    if (node.runs || node.down) {
      Violation("attempt " + core::ToString(attempt.id) + " starts on " + node.hello.name + ", which is " +
                (node.down ? "away" : "taken"));
    }
    node.runs = attempt.id;
  }
  if (attempt.state == AttemptState::kEnded || attempt.stop != core::StopCause::kNone || attempt.open_agreement())
    return;
  for (std::uint32_t i = 0; i < attempt.nodes.size(); ++i) {
    ObservedTask task;
    task.phase = TaskPhase::kRunning;
    task.ranks.push_back(RankOf(traced, i, Milliseconds(-1)));
    Report(attempt, i, std::move(task));
  }
  if (traced.restore.ms > 0) After(traced.restore, Kind::kRestored, attempt.id, 0);
  After(traced.restore + trace_[row].duration - traced.done, Kind::kWorkDone, attempt.id, 0);
}

// Steps are seconds of work; `work` below 0: none was reported yet.
Rank TraceWorld::RankOf(const Traced& traced, std::uint32_t index, Duration work) const {
  Rank rank;
  rank.rank = index;
  rank.connected = true;
  if (work.ms >= 0) rank.step = work.ms / 1000;
  if (traced.restored.ms > 0) {
    rank.restored_step = traced.done.ms / 1000;
    rank.restore_time = traced.restored;
  }
  return rank;
}

void TraceWorld::Report(const Attempt& attempt, std::uint32_t index, ObservedTask task) {
  const core::NodeId node = attempt.nodes[index];
  task.id = {attempt.id, index};
  core::NodeReported report;
  report.node = node;
  report.session = nodes_[node.value - 1].hello.session;
  if (task.phase == TaskPhase::kReleased) nodes_[node.value - 1].runs = {};
  report.tasks.push_back(std::move(task));
  Post(std::move(report), static_cast<std::size_t>(-1));
}

std::int64_t TraceWorld::GpusOf(const Attempt& attempt) const {
  std::int64_t gpus = 0;
  for (const core::NodeId node : attempt.nodes) gpus += nodes_[node.value - 1].hello.labels.gpu_count;
  return gpus;
}

Duration TraceWorld::Progress(const Traced& traced) const {
  return std::max(Duration{}, now_ - traced.started - traced.restore);
}

void TraceWorld::ReportRestored(std::size_t row) {
  Traced& traced = traced_[row];
  traced.restored = traced.restore;
  ObservedTask task;
  task.phase = TaskPhase::kRunning;
  task.ranks.push_back(RankOf(traced, 0, traced.done));
  Report(*state_.FindAttempt(traced.attempt), 0, std::move(task));
}

void TraceWorld::ReportDone(std::size_t row) {
  Traced& traced = traced_[row];
  traced.answered = true;
  const Attempt& attempt = *state_.FindAttempt(traced.attempt);
  for (std::uint32_t i = 0; i < attempt.nodes.size(); ++i) {
    ObservedTask task;
    task.phase = TaskPhase::kReleased;
    task.ranks.push_back(RankOf(traced, i, trace_[row].duration));
    task.ranks[0].finished = task.ranks[0].exited = true;
    Report(attempt, i, std::move(task));
  }
}

// Rank 0 has saved, and everybody leaves: all of it has happened when the report lands.
void TraceWorld::AnswerInterrupt(std::size_t row, const Attempt& attempt) {
  Traced& traced = traced_[row];
  traced.answered = true;
  const Duration work = traced.done + Progress(traced);
  for (std::uint32_t i = 0; i < attempt.nodes.size(); ++i) {
    ObservedTask task;
    task.phase = TaskPhase::kReleased;
    task.ranks.push_back(RankOf(traced, i, work));
    task.ranks[0].leaving = task.ranks[0].exited = true;
    if (i == 0) task.ranks[0].saves.push_back({work.ms / 1000, "save", 0, 0, 1, {}});
    Report(attempt, i, std::move(task));
  }
}

// What is left of an attempt that lost a node.
void TraceWorld::AnswerStop(std::size_t row, const Attempt& attempt) {
  Traced& traced = traced_[row];
  traced.answered = true;
  if (attempt.stop != core::StopCause::kNodeFailure) {
    Violation("attempt " + core::ToString(attempt.id) + " is stopped: " + core::ToString(attempt.stop) + ", " +
              attempt.message);
  }
  for (std::uint32_t i = 0; i < attempt.nodes.size(); ++i) {
    if (state_.FindTask({attempt.id, i})->phase == TaskPhase::kReleased) continue;
    ObservedTask task;
    task.phase = TaskPhase::kReleased;
    task.exit_code = 137;
    Report(attempt, i, std::move(task));
  }
}

void TraceWorld::Ended(std::size_t row, const Attempt& attempt) {
  Traced& traced = traced_[row];
  const Duration work = std::max(Duration{}, (now_ - traced.started) - traced.restore);
  const auto nodes = static_cast<std::int64_t>(attempt.nodes.size());
  Accrue();
  progressed_at_ = now_;
  nodes_held_ -= nodes;
  if (attempt.zones.size() > 1) --cross_zone_allocations_;
  outcome_.restore_node_ms += nodes * ((now_ - traced.started) - work).ms;
  outcome_.overhead_gpu_ms += GpusOf(attempt) * ((now_ - traced.started) - work).ms;
  traced.holds = false;
  traced.was_cut_short = true;
  traced.waits_since = now_;
  began_to_wait_.push_back(attempt.id.job);
  if (attempt.outcome == core::Outcome::kSucceeded) {
    outcome_.jobs[row].ended = now_;
    --unfinished_;
    if (traced.done + work != trace_[row].duration) {
      Violation("job " + trace_[row].name + " has not worked as long as it had to");
    }
    return;
  }
  if (attempt.outcome == core::Outcome::kInterrupted && attempt.save == core::SaveResult::kSaved) {
    ++outcome_.interrupts;
    traced.done = traced.done + work;
    return;
  }
  if (attempt.outcome != core::Outcome::kNodeFailure) {
    Violation("attempt " + core::ToString(attempt.id) + " ended as " + core::ToString(attempt.outcome) + ": " +
              attempt.message);
    return;
  }
  ++outcome_.thrown_back;
  outcome_.lost_node_ms += nodes * (traced.done + work - traced.checkpointed).ms;
  outcome_.overhead_gpu_ms += GpusOf(attempt) * (traced.done + work - traced.checkpointed).ms;
  traced.done = traced.checkpointed;
}

// Rank 0, with its newest periodic save.
Rank TraceWorld::RankAtFailure(const Traced& traced, Duration work) const {
  Rank rank = RankOf(traced, 0, work);
  if (traced.checkpointed.ms > 0) rank.saves.push_back({traced.checkpointed.ms / 1000, "save", 0, 0, 1, {}});
  return rank;
}

void TraceWorld::Fail(std::uint32_t) {
  const FaultPlan& plan = *options_.faults;
  const auto index = static_cast<std::uint32_t>(rng_.Between(0, options_.nodes - 1));
  const Duration away = AwayAfterFault(plan, rng_);
  After(UntilNextFault(plan, options_.nodes, rng_), Kind::kNodeFails, {}, 0);
  SimNode& node = nodes_[index];
  if (node.down) return;  // what is away cannot fail
  ++outcome_.node_failures;
  if (node.runs) {
    const std::size_t row = RowOf(node.runs.job);
    Traced& traced = traced_[row];
    const Attempt& attempt = *state_.FindAttempt(node.runs);
    const auto& nodes = attempt.nodes;
    const auto at = std::find(nodes.begin(), nodes.end(), core::NodeId(index + 1)) - nodes.begin();
    if (!std::exchange(traced.thrown_back, true)) {
      const Duration work = traced.done + Progress(traced);
      traced.checkpointed = std::max(traced.done, Milliseconds(work.ms - work.ms % plan.checkpoint_every.ms));
      ObservedTask saved;  // earlier; nobody has looked at it since
      saved.phase = TaskPhase::kRunning;
      saved.ranks.push_back(RankAtFailure(traced, work));
      Report(attempt, 0, std::move(saved));
    }
    ObservedTask task;
    task.phase = TaskPhase::kReleased;
    task.lost = true;
    task.message = "the node failed";
    if (at == 0) task.ranks.push_back(RankAtFailure(traced, traced.checkpointed));
    Report(attempt, static_cast<std::uint32_t>(at), std::move(task));
  }
  if (away.ms == 0) return;
  node.down = true;
  Post(core::NodeDisconnected{core::NodeId(index + 1), node.hello.session}, static_cast<std::size_t>(-1));
  After(away, Kind::kNodeReturns, {}, index);
}

void TraceWorld::Return(std::uint32_t index) {
  SimNode& node = nodes_[index];
  node.down = false;
  node.hello.session = ++session_;
  node.hello.boot_id = "boot-" + std::to_string(session_);
  Post(node.hello, static_cast<std::size_t>(-1));
  Post(core::NodeReported{core::NodeId(index + 1), node.hello.session, true, {}}, static_cast<std::size_t>(-1));
}

}  // namespace glim::sim
