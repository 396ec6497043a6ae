#include "scheduler/core/lifecycle/round_machine.h"

#include <algorithm>

#include "scheduler/core/lifecycle/attempt_stop.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

// What the ranks of an attempt have answered to a round.
struct Answers {
  bool all_acked = true;
  bool all_left = true;
  std::int64_t hold_max = -1;
  std::int64_t step_max = -1;
  Duration extend;
};

Answers CollectAnswers(const Changes& changes, const Attempt& attempt, std::uint32_t round,
                       std::uint32_t ranks_declared) {
  Answers answers;
  std::uint32_t ranks_seen = 0;
  for (const Task* task : TasksOf(changes.state(), attempt.id)) {
    for (const Rank& rank : task->ranks) {
      ++ranks_seen;
      const bool acked = rank.acked_round == round;
      const bool gone = rank.finished || rank.exited || rank.leaving;
      answers.all_acked &= acked || gone;
      answers.all_left &= rank.leaving || rank.exited;
      answers.step_max = std::max(answers.step_max, rank.step);
      if (acked && !gone) answers.hold_max = std::max(answers.hold_max, rank.hold);
      answers.extend = std::max(answers.extend, rank.extend);
    }
  }
  // All the ranks declared at launch, not merely those that have been seen.
  if (ranks_seen < ranks_declared) answers.all_acked = answers.all_left = false;
  return answers;
}

}  // namespace

void OpenRound(Changes& changes, AttemptId id, const RoundRequest& request) {
  const Job& job = changes.job(id.job);
  const std::shared_ptr<const JobSpec> spec = job.spec;
  const Job* successor = request.successor ? changes.state().FindJob(request.successor.job) : nullptr;
  bool opened = false;
  changes.EditAttempt(id, [&](Attempt& attempt) {
    Round* round = attempt.open_round();
    if (!round || Planted(PlantedBug::kInterruptedTwice)) {
      opened = true;
      round = &attempt.rounds.emplace_back();
      round->id = static_cast<std::uint32_t>(attempt.rounds.size());
      round->state = spec->interrupt_mode == InterruptMode::kSignal ? RoundState::kSignalled : RoundState::kNotifying;
      round->requested_at = changes.now();
      round->agree_by = changes.now() + std::min(changes.policy().agree_max, spec->grace / 4);
      round->deadline = changes.now() + spec->grace;
      round->reason = request.reason;
    }
    round->suspend = round->suspend || request.suspend;
    round->time_limit = round->time_limit || request.time_limit;
    round->moved = round->moved || request.moved;
    round->swap_aborted = false;
    round->successor = request.successor;
    round->successor_name = successor ? successor->spec->name : "";
    round->successor_user = successor ? successor->user : "";
  });
  changes.EditJob(id.job, [&](Job& row) {
    const bool held_after = request.suspend || row.state == JobState::kSuspending;
    row.state = held_after ? JobState::kSuspending : JobState::kInterrupting;
    if (!opened) return;
    ++row.interrupts;
    ++row.saves_asked;
  });
  if (opened) changes.Note("interrupt_requested", id, {}, request.reason);
  changes.SyncAttempt(changes.attempt(id));
  AdvanceRound(changes, id);
}

void AdvanceRound(Changes& changes, AttemptId id) {
  const Attempt& before = changes.attempt(id);
  const Round* open = before.open_round();
  if (!open || before.state == AttemptState::kEnded || before.state == AttemptState::kClaimed) return;
  const JobSpec& spec = *changes.job(id.job).spec;
  const Answers answers = CollectAnswers(changes, before, open->id,
                                         static_cast<std::uint32_t>(before.nodes.size()) * spec.ranks_per_node());
  const RoundState state_before = open->state;
  const Duration max_grace = spec.max_grace;
  changes.EditAttempt(id, [&](Attempt& attempt) {
    Round& round = *attempt.open_round();
    if (round.state == RoundState::kNotifying && answers.all_acked) {
      round.notified_at = round.agreed_at = changes.now();
      round.stop_step = answers.hold_max >= 0 ? answers.hold_max : answers.step_max;
      round.state = RoundState::kAgreed;
    } else if (round.state == RoundState::kNotifying && changes.now() >= round.agree_by) {
      round.state = RoundState::kNoAgreement;
    }
    if (Planted(PlantedBug::kMovedStop) && round.state == RoundState::kAgreed) {
      round.stop_step = std::max(round.stop_step, answers.step_max + 1);
    }
    if (answers.extend.ms > 0) {
      round.deadline = std::max(round.deadline, round.requested_at + std::min(answers.extend, max_grace));
    }
    if (!round.left_at && answers.all_left) round.left_at = changes.now();
  });
  const Attempt& attempt = changes.attempt(id);
  const Round& round = *attempt.open_round();
  if (round.state != state_before) {
    if (round.state == RoundState::kAgreed) {
      changes.Note("step_agreed", id, {}, "stop after step " + std::to_string(round.stop_step));
    } else {
      changes.Note("no_agreement", id, {}, "not every rank acknowledged in time");
    }
    changes.SyncAttempt(attempt);
  }
  if (changes.now() >= round.deadline && attempt.stop == StopCause::kNone) {
    StopTasks(changes, id, StopCause::kDeadline, "did not leave within its grace");
  }
}

void ChangeSuccessor(Changes& changes, AttemptId id, AttemptId successor) {
  const Job& job = changes.job(successor.job);
  const std::string name = job.spec->name, user = job.user;
  changes.EditAttempt(id, [&](Attempt& attempt) {
    Round& round = *attempt.open_round();
    round.successor = successor;
    round.successor_name = name;
    round.successor_user = user;
  });
}

void WithdrawRound(Changes& changes, AttemptId id) {
  const Attempt* before = changes.state().FindAttempt(id);
  if (!before || !before->open_round()) return;
  for (const NodeId node : before->nodes) {
    const Node& row = changes.node(node);
    if (row.holder != id || !row.claim) continue;
    ChangeSuccessor(changes, id, row.claim);
    return;
  }
  const bool withdrawn = before->open_round()->state == RoundState::kNotifying && before->stop == StopCause::kNone;
  if (before->open_round()->suspend || before->open_round()->time_limit) return;  // it leaves for that
  changes.EditAttempt(id, [&](Attempt& attempt) {
    Round& round = *attempt.open_round();
    if (withdrawn) {
      round.state = RoundState::kWithdrawn;
    } else {
      round.swap_aborted = true;
    }
  });
  changes.Note(withdrawn ? "interrupt_withdrawn" : "swap_aborted", id, {}, "the job that needed the nodes went away");
  if (!withdrawn) return;
  const bool running = changes.attempt(id).state == AttemptState::kRunning;
  changes.EditJob(id.job, [&](Job& job) {
    job.state = running ? JobState::kRunning : JobState::kStarting;
    --job.interrupts;
    --job.saves_asked;
  });
  changes.SyncAttempt(changes.attempt(id));
}

void GrantLeaderChange(Changes& changes, AttemptId id) {
  const Attempt& before = changes.attempt(id);
  if (!before.open_round()) return;
  const Duration grace = changes.job(id.job).spec->grace;
  changes.EditAttempt(id, [&](Attempt& attempt) {
    Round& round = *attempt.open_round();
    round.agree_by = std::max(round.agree_by, changes.now() + std::min(changes.policy().agree_max, grace / 4));
    round.deadline = std::max(round.deadline, changes.now() + grace);
  });
}

}  // namespace glim::core
