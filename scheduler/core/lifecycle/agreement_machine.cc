#include "scheduler/core/lifecycle/agreement_machine.h"

#include <algorithm>

#include "scheduler/core/lifecycle/attempt_stop.h"
#include "scheduler/core/lifecycle/heard.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/interrupt_terms.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

// A rank that says that it has had more beyond those of the row is wrong, and its word does not use up the numbers.
constexpr std::uint32_t kForgottenMost = 10'000;

// What the ranks of an attempt have answered to an agreement.
struct Answers {
  bool all_acked = true;
  bool all_left = true;
  std::int64_t hold_max = -1;
  std::int64_t step_max = -1;
  Duration extend;
};

Answers CollectAnswers(const Changes& changes, const Attempt& attempt, std::uint32_t agreement,
                       std::uint32_t ranks_declared) {
  Answers answers;
  std::uint32_t ranks_seen = 0;
  for (const Task* task : TasksOf(changes.state(), attempt.id)) {
    for (const Rank& rank : task->ranks) {
      ++ranks_seen;
      const bool acked = rank.acked_agreement == agreement;
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

// That deadline, or an earlier one by which an operator's drain wants one of its nodes empty.
TimePoint WithinDrains(const ClusterState& state, const Attempt& attempt, TimePoint deadline) {
  for (const NodeId id : attempt.nodes) {
    const Node* node = state.FindNode(id);
    const bool drained = node && node->cordon && node->cordon->drain && node->cordon->deadline;
    if (drained) deadline = std::min(deadline, node->cordon->deadline);
  }
  return deadline;
}

void NoteRequest(Changes& changes, const Attempt& attempt, const std::string& reason) {
  const Agreement& agreement = attempt.agreements.back();
  const bool signalled = agreement.state == AgreementState::kSignalled;
  changes.Note(HistoryKind::kInterruptRequested, attempt.id, {}, reason,
               {.grace = agreement.deadline - agreement.requested_at,
                .signal = signalled ? changes.job(attempt.id.job).spec->interrupt_signal : ""});
}

// A rank that has acted on the notice: what it has begun cannot be taken back.
bool HasActed(const std::vector<const Task*>& tasks) {
  if (Planted(PlantedBug::kWithdrawnTooLate)) return false;
  const auto acted = [](const Rank& rank) { return rank.leaving || (rank.exited && !rank.finished); };
  return std::any_of(tasks.begin(), tasks.end(), [&](const Task* task) {
    return task->phase == TaskPhase::kReleased || std::any_of(task->ranks.begin(), task->ranks.end(), acted);
  });
}

// A rank said that it leaves, and no agreement is open: that was withdrawn meanwhile, or the store went back and has
// forgotten it. Without the rank the gang cannot go on, so all leave.
bool HasLeftInVain(const Changes& changes, const Attempt& attempt) {
  const bool is_there = attempt.state == AttemptState::kStarting || attempt.state == AttemptState::kRunning;
  if (!is_there || attempt.stop != StopCause::kNone || attempt.open_agreement()) return false;
  if (Planted(PlantedBug::kWithdrawnTooLate)) return false;
  for (const Task* task : TasksOf(changes.state(), attempt.id)) {
    for (const Rank& rank : task->ranks) {
      if (rank.leaving && !rank.yielded) return true;
    }
  }
  return false;
}

void Reopen(Changes& changes, AttemptId id) {
  const bool withdrawn = !changes.attempt(id).agreements.empty();
  OpenAgreement(changes, id,
                {{},
                 withdrawn ? "a rank had left when the interrupt was withdrawn"
                           : "a rank has left for an interrupt that this store does not have"});
  changes.EditAttempt(id, [](Attempt& attempt) {
    if (Agreement* agreement = attempt.open_agreement()) agreement->swap_aborted = true;
  });
}

// A store that went back has forgotten agreements, and a rank hears of none with a number that it has had.
std::uint32_t NextAgreement(const ClusterState& state, const Attempt& attempt) {
  const std::uint32_t last = attempt.agreements.empty() ? 0 : attempt.agreements.back().id;
  std::uint32_t had = last;
  for (const Task* task : TasksOf(state, attempt.id)) {
    for (const Rank& rank : task->ranks) {
      if (rank.acked_agreement > had && rank.acked_agreement - last <= kForgottenMost) had = rank.acked_agreement;
    }
  }
  return had + 1;
}

bool IsDue(const Changes& changes, const Attempt& attempt, TimePoint due) {
  return changes.now() >= due && AreHeardAt(changes.state(), changes.policy(), attempt, due);
}

// What the ranks were told. Neither an outage nor a policy or class that changed since makes it shorter. A row of an
// earlier release does not have it.
Duration FullTime(const Agreement& open) { return open.grace.ms > 0 ? open.grace : open.deadline - open.requested_at; }

void CutByDrains(const ClusterState& state, const Attempt& attempt, Agreement* agreement) {
  agreement->deadline = WithinDrains(state, attempt, agreement->deadline);
  agreement->agree_by = std::min(agreement->agree_by, agreement->deadline);
  agreement->grace = std::min(agreement->grace, agreement->deadline - agreement->requested_at);
}

// `wish`: from the request on, at most what the terms allow.
void ExtendBy(const ClusterState& state, const Attempt& attempt, Duration wish, Agreement* agreement) {
  const TimePoint wanted = WithinDrains(state, attempt, agreement->requested_at + wish);
  agreement->deadline = std::max(agreement->deadline, wanted);
  agreement->grace = std::max(agreement->grace, wanted - agreement->requested_at);
}

// The job may stay until then: a drain that would stop it before waits for it.
void MoveDrains(Changes& changes, const Attempt& attempt, TimePoint deadline) {
  for (const NodeId id : attempt.nodes) {
    const Node* node = changes.state().FindNode(id);
    const bool sooner =
        node && node->cordon && node->cordon->drain && node->cordon->deadline && node->cordon->deadline < deadline;
    if (sooner) changes.EditNode(id, [&](Node& row) { row.cordon->deadline = deadline; });
  }
}

void NoteExtension(Changes& changes, AttemptId id, const Agreement& was) {
  const Agreement& is = *changes.attempt(id).open_agreement();
  if (is.deadline > was.deadline) {
    changes.Note(HistoryKind::kGraceExtended, id, {}, "", {.grace = is.deadline - is.requested_at});
  }
}

}  // namespace

void OpenAgreement(Changes& changes, AttemptId id, const AgreementRequest& request) {
  const Job& job = changes.job(id.job);
  const bool by_signal = IsAskedBySignal(job);
  const Duration capped = GraceOf(changes.policy(), *job.spec, job.priority).grace;
  const Duration grace = Planted(PlantedBug::kGraceWithoutCap) ? job.spec->grace : capped;
  const Job* preemptor = request.preemptor ? changes.state().FindJob(request.preemptor.job) : nullptr;
  bool opened = false;
  changes.EditAttempt(id, [&](Attempt& attempt) {
    Agreement* agreement = attempt.open_agreement();
    if (!agreement || Planted(PlantedBug::kInterruptedTwice)) {
      opened = true;
      const std::uint32_t next = NextAgreement(changes.state(), attempt);
      if (attempt.agreements.size() >= kAgreementsKept) attempt.agreements.erase(attempt.agreements.begin());
      agreement = &attempt.agreements.emplace_back();
      agreement->id = next;
      agreement->state = by_signal ? AgreementState::kSignalled : AgreementState::kNotifying;
      agreement->requested_at = changes.now();
      agreement->deadline = WithinDrains(changes.state(), attempt, changes.now() + grace);
      agreement->grace = agreement->deadline - changes.now();
      agreement->agree_by = changes.now() + std::min(changes.policy().agree_max, agreement->grace / 4);
      agreement->reason = request.reason;
    }
    CutByDrains(changes.state(), attempt, agreement);
    agreement->suspend = agreement->suspend || request.suspend;
    agreement->time_limit = agreement->time_limit || request.time_limit;
    agreement->moved = agreement->moved || request.moved;
    agreement->by_operator = agreement->by_operator || request.by_operator;
    agreement->elsewhere = agreement->elsewhere || request.elsewhere;
    agreement->swap_aborted = false;
    agreement->preemptor = request.preemptor;
    agreement->preemptor_name = preemptor ? preemptor->spec->name : "";
    agreement->preemptor_user = preemptor ? preemptor->user : "";
  });
  changes.EditJob(id.job, [&](Job& row) {
    const bool held_after = request.suspend || row.state == JobState::kSuspending;
    row.state = held_after ? JobState::kSuspending : JobState::kInterrupting;
    if (!opened) return;
    ++row.interrupts;
    ++row.saves_asked;
  });
  if (opened) NoteRequest(changes, changes.attempt(id), request.reason);
  changes.SyncAttempt(changes.attempt(id));
  AdvanceAgreement(changes, id);
}

void AdvanceAgreement(Changes& changes, AttemptId id) {
  if (HasLeftInVain(changes, changes.attempt(id))) return Reopen(changes, id);
  const Attempt& before = changes.attempt(id);
  const Agreement* open = before.open_agreement();
  if (!open || before.state == AttemptState::kEnded || before.state == AttemptState::kClaimed) return;
  const Job& job = changes.job(id.job);
  const JobSpec& spec = *job.spec;
  const Answers answers = CollectAnswers(changes, before, open->id,
                                         static_cast<std::uint32_t>(before.nodes.size()) * spec.ranks_per_node());
  const Agreement was = *open;
  const Duration max_grace = GraceOf(changes.policy(), spec, job.priority).max_grace;
  const bool agree_due = IsDue(changes, before, open->agree_by);
  changes.EditAttempt(id, [&](Attempt& attempt) {
    Agreement& agreement = *attempt.open_agreement();
    if (agreement.state == AgreementState::kNotifying && answers.all_acked) {
      agreement.notified_at = agreement.agreed_at = changes.now();
      agreement.stop_step = answers.hold_max >= 0 ? answers.hold_max : answers.step_max;
      agreement.state = AgreementState::kAgreed;
    } else if (agreement.state == AgreementState::kNotifying && agree_due) {
      agreement.state = AgreementState::kNoAgreement;
    }
    if (Planted(PlantedBug::kMovedStop) && agreement.state == AgreementState::kAgreed) {
      agreement.stop_step = std::max(agreement.stop_step, answers.step_max + 1);
    }
    if (answers.extend.ms > 0) ExtendBy(changes.state(), attempt, std::min(answers.extend, max_grace), &agreement);
    if (!agreement.left_at && answers.all_left) agreement.left_at = changes.now();
  });
  const Attempt& attempt = changes.attempt(id);
  const Agreement& agreement = *attempt.open_agreement();
  NoteExtension(changes, id, was);
  NoteLeft(changes, attempt, was);
  if (agreement.state != was.state) {
    if (agreement.state == AgreementState::kAgreed) {
      changes.Note(HistoryKind::kStepAgreed, id, {}, "", {.step = agreement.stop_step});
    } else {
      changes.Note(HistoryKind::kNoAgreement, id, {});
    }
    changes.SyncAttempt(attempt);
  }
  const bool has_time = agreement.deadline > agreement.requested_at;  // who has none is not told first
  const bool is_over = has_time ? IsDue(changes, attempt, agreement.deadline) : changes.now() >= agreement.deadline;
  if (is_over && attempt.stop == StopCause::kNone) {
    StopTasks(changes, id, StopCause::kDeadline, "did not leave within its grace");
  }
}

void NoteLeft(Changes& changes, const Attempt& attempt, const Agreement& was) {
  const Agreement& is = attempt.agreements.back();
  if (was.left_at || !is.left_at || attempt.stop == StopCause::kDeadline) return;  // who is killed has not left
  changes.Note(HistoryKind::kInterruptLeft, attempt.id, {}, "",
               {.took = is.left_at - is.requested_at, .grace = is.deadline - is.requested_at});
}

void ChangePreemptor(Changes& changes, AttemptId id, AttemptId preemptor) {
  const Job& job = changes.job(preemptor.job);
  const std::string name = job.spec->name, user = job.user;
  changes.EditAttempt(id, [&](Attempt& attempt) {
    Agreement& agreement = *attempt.open_agreement();
    agreement.preemptor = preemptor;
    agreement.preemptor_name = name;
    agreement.preemptor_user = user;
  });
}

void WithdrawAgreement(Changes& changes, AttemptId id) {
  const Attempt* before = changes.state().FindAttempt(id);
  if (!before || !before->open_agreement()) return;
  for (const NodeId node : before->nodes) {
    const Node& row = changes.node(node);
    if (row.holder != id || !row.claim) continue;
    ChangePreemptor(changes, id, row.claim);
    return;
  }
  const bool withdrawn = before->open_agreement()->state == AgreementState::kNotifying &&
                         before->stop == StopCause::kNone && !HasActed(TasksOf(changes.state(), id));
  if (before->open_agreement()->suspend || before->open_agreement()->time_limit) return;  // it leaves for that
  if (before->open_agreement()->by_operator) return;                                      // or for that
  changes.EditAttempt(id, [&](Attempt& attempt) {
    Agreement& agreement = *attempt.open_agreement();
    if (withdrawn) {
      agreement.state = AgreementState::kWithdrawn;
    } else {
      agreement.swap_aborted = true;
    }
  });
  changes.Note(withdrawn ? HistoryKind::kInterruptWithdrawn : HistoryKind::kSwapAborted, id, {});
  if (!withdrawn) return;
  const bool running = changes.attempt(id).state == AttemptState::kRunning;
  changes.EditJob(id.job, [&](Job& job) {
    job.state = running ? JobState::kRunning : JobState::kStarting;
    --job.interrupts;
    --job.saves_asked;
  });
  changes.SyncAttempt(changes.attempt(id));
}

void ExtendAgreement(Changes& changes, AttemptId id, Duration by) {
  const Attempt& before = changes.attempt(id);
  if (!before.open_agreement() || before.stop != StopCause::kNone || by.ms <= 0) return;
  const Agreement was = *before.open_agreement();
  const Duration full = FullTime(was);
  const auto moved = [&](TimePoint at, Duration most) { return std::max(at, std::min(at + by, changes.now() + most)); };
  changes.EditAttempt(id, [&](Attempt& attempt) {
    Agreement& agreement = *attempt.open_agreement();
    agreement.agree_by = moved(agreement.agree_by, std::min(changes.policy().agree_max, full / 4));
    agreement.deadline = moved(agreement.deadline, full);
  });
  MoveDrains(changes, changes.attempt(id), changes.attempt(id).open_agreement()->deadline);
  NoteExtension(changes, id, was);
}

void GrantLeaderChange(Changes& changes, AttemptId id) {
  const Agreement* open = changes.attempt(id).open_agreement();
  if (open) ExtendAgreement(changes, id, changes.now() - open->requested_at);
}

}  // namespace glim::core
