// The words of the core's enumerations: one table, word <-> value. The store's rows, the protocol's messages, policy
// files and messages to people all use these words, in lower case.
//
// A stored word keeps its meaning: a value may be added, a word is never given another value. The empty word is that of
// kNone where nothing is to be said (no outcome yet). enum_words_test compares each table with its enumeration: every
// enumerator has the word that its name gives (kNodeFailure: node_failure).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/blocker.h"
#include "scheduler/core/model/history.h"
#include "scheduler/core/model/roles.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/core/model/spec.h"

namespace glim::core {

template <typename E>
struct EnumWord {
  E value;
  const char* word;
};

// Specialised for every enumeration with words.
template <typename E>
inline constexpr std::array<EnumWord<E>, 0> kEnumWords{};

template <>
inline constexpr auto kEnumWords<PriorityClass> = std::to_array<EnumWord<PriorityClass>>({
    {PriorityClass::kAuto, "auto"},
    {PriorityClass::kLow, "low"},
    {PriorityClass::kBelowNormal, "below_normal"},
    {PriorityClass::kUnderNormal, "under_normal"},
    {PriorityClass::kNormal, "normal"},
    {PriorityClass::kAboveNormal, "above_normal"},
    {PriorityClass::kHigh, "high"},
    {PriorityClass::kVeryHigh, "very_high"},
    {PriorityClass::kExtremeHigh, "extreme_high"},
});

template <>
inline constexpr auto kEnumWords<QuotaOf> = std::to_array<EnumWord<QuotaOf>>({
    {QuotaOf::kUser, "user"},
    {QuotaOf::kTeam, "team"},
    {QuotaOf::kTeamUser, "team_user"},
    {QuotaOf::kDefaultUser, "default_user"},
    {QuotaOf::kEverybody, "everybody"},
});

template <>
inline constexpr auto kEnumWords<Role> = std::to_array<EnumWord<Role>>({
    {Role::kNone, ""},
    {Role::kViewer, "viewer"},
    {Role::kUser, "user"},
    {Role::kTeamAdmin, "team_admin"},
    {Role::kOperator, "operator"},
    {Role::kAdmin, "admin"},
});

template <>
inline constexpr auto kEnumWords<Scope> = std::to_array<EnumWord<Scope>>({
    {Scope::kRead, "read"},
    {Scope::kSubmit, "submit"},
    {Scope::kAll, "all"},
});

template <>
inline constexpr auto kEnumWords<TokenOrigin> = std::to_array<EnumWord<TokenOrigin>>({
    {TokenOrigin::kFirst, "first"},
    {TokenOrigin::kPersonal, "personal"},
    {TokenOrigin::kLogin, "login"},
    {TokenOrigin::kOidc, "oidc"},
    {TokenOrigin::kBreakGlass, "break_glass"},
    {TokenOrigin::kJob, "job"},
});

template <>
inline constexpr auto kEnumWords<Launcher> = std::to_array<EnumWord<Launcher>>({
    {Launcher::kNode, "node"},
    {Launcher::kPerGpu, "per_gpu"},
});

template <>
inline constexpr auto kEnumWords<InterruptMode> = std::to_array<EnumWord<InterruptMode>>({
    {InterruptMode::kAuto, "auto"},
    {InterruptMode::kCooperative, "cooperative"},
    {InterruptMode::kSignal, "signal"},
});
template <>
inline constexpr auto kEnumWords<InterruptTo> = std::to_array<EnumWord<InterruptTo>>({
    {InterruptTo::kMain, "main"},
    {InterruptTo::kAll, "all"},
});

template <>
inline constexpr auto kEnumWords<CrossZone> = std::to_array<EnumWord<CrossZone>>({
    {CrossZone::kAuto, "auto"},
    {CrossZone::kNever, "never"},
});

template <>
inline constexpr auto kEnumWords<LeafPolicy> = std::to_array<EnumWord<LeafPolicy>>({
    {LeafPolicy::kPack, "pack"},
    {LeafPolicy::kAny, "any"},
});

template <>
inline constexpr auto kEnumWords<NvLink> = std::to_array<EnumWord<NvLink>>({
    {NvLink::kNone, "none"},
    {NvLink::kPair, "pair"},
    {NvLink::kFull, "full"},
});

template <>
inline constexpr auto kEnumWords<DependencyKind> = std::to_array<EnumWord<DependencyKind>>({
    {DependencyKind::kOk, "ok"},
    {DependencyKind::kFailed, "failed"},
    {DependencyKind::kAny, "any"},
});

template <>
inline constexpr auto kEnumWords<IfUnreachable> = std::to_array<EnumWord<IfUnreachable>>({
    {IfUnreachable::kOlder, "older"},
    {IfUnreachable::kWait, "wait"},
});

template <>
inline constexpr auto kEnumWords<Use> = std::to_array<EnumWord<Use>>({
    {Use::kFree, "free"},
    {Use::kClaimed, "claimed"},
    {Use::kUnavailable, "unavailable"},
    {Use::kStarting, "starting"},
    {Use::kRestoring, "restoring"},
    {Use::kProductive, "productive"},
    {Use::kStopping, "stopping"},
    {Use::kLost, "lost"},
});

template <>
inline constexpr auto kEnumWords<JobState> = std::to_array<EnumWord<JobState>>({
    {JobState::kQueued, "queued"},
    {JobState::kStarting, "starting"},
    {JobState::kRunning, "running"},
    {JobState::kInterrupting, "interrupting"},
    {JobState::kCancelling, "cancelling"},
    {JobState::kSuspending, "suspending"},
    {JobState::kHeld, "held"},
    {JobState::kSucceeded, "succeeded"},
    {JobState::kFailed, "failed"},
    {JobState::kCancelled, "cancelled"},
});

template <>
inline constexpr auto kEnumWords<AttemptState> = std::to_array<EnumWord<AttemptState>>({
    {AttemptState::kClaimed, "claimed"},
    {AttemptState::kStarting, "starting"},
    {AttemptState::kRunning, "running"},
    {AttemptState::kStopping, "stopping"},
    {AttemptState::kEnded, "ended"},
});

template <>
inline constexpr auto kEnumWords<Outcome> = std::to_array<EnumWord<Outcome>>({
    {Outcome::kNone, ""},
    {Outcome::kSucceeded, "succeeded"},
    {Outcome::kFailed, "failed"},
    {Outcome::kInterrupted, "interrupted"},
    {Outcome::kStartFailed, "start_failed"},
    {Outcome::kNodeFailure, "node_failure"},
    {Outcome::kHang, "hang"},
    {Outcome::kTimeout, "timeout"},
    {Outcome::kCancelled, "cancelled"},
    {Outcome::kClaimDropped, "claim_dropped"},
    {Outcome::kRestoreFailed, "restore_failed"},
    {Outcome::kGpuFailure, "gpu_failure"},
    {Outcome::kNetwork, "network"},
    {Outcome::kOutOfMemory, "out_of_memory"},
});

template <>
inline constexpr auto kEnumWords<HealthVerdict> = std::to_array<EnumWord<HealthVerdict>>({
    {HealthVerdict::kRecorded, "recorded"},
    {HealthVerdict::kJobsFault, "jobs_fault"},
    {HealthVerdict::kRestarted, "restarted"},
    {HealthVerdict::kDrained, "drained"},
    {HealthVerdict::kCordoned, "cordoned"},
    {HealthVerdict::kOut, "out"},
});

template <>
inline constexpr auto kEnumWords<ValidationNeed> = std::to_array<EnumWord<ValidationNeed>>({
    {ValidationNeed::kNone, ""},
    {ValidationNeed::kOverdue, "overdue"},
    {ValidationNeed::kSuspicion, "suspicion"},
    {ValidationNeed::kAsked, "asked"},
    {ValidationNeed::kRepair, "repair"},
    {ValidationNeed::kJoin, "join"},
});

template <>
inline constexpr auto kEnumWords<SaveResult> = std::to_array<EnumWord<SaveResult>>({
    {SaveResult::kNone, ""},
    {SaveResult::kSaved, "saved"},
    {SaveResult::kLeftUnsaved, "left_unsaved"},
    {SaveResult::kKilled, "killed"},
});

template <>
inline constexpr auto kEnumWords<StopCause> = std::to_array<EnumWord<StopCause>>({
    {StopCause::kNone, ""},
    {StopCause::kCancel, "cancel"},
    {StopCause::kSuspend, "suspend"},
    {StopCause::kRankFailed, "rank_failed"},
    {StopCause::kDeadline, "deadline"},
    {StopCause::kStartTimeout, "start_timeout"},
    {StopCause::kNodeFailure, "node_failure"},
    {StopCause::kFinished, "finished"},
    {StopCause::kGpuFailure, "gpu_failure"},
    {StopCause::kNetwork, "network"},
    {StopCause::kHang, "hang"},
});

template <>
inline constexpr auto kEnumWords<AgreementState> = std::to_array<EnumWord<AgreementState>>({
    {AgreementState::kNotifying, "notifying"},
    {AgreementState::kAgreed, "agreed"},
    {AgreementState::kNoAgreement, "no_agreement"},
    {AgreementState::kSignalled, "signalled"},
    {AgreementState::kWithdrawn, "withdrawn"},
    {AgreementState::kEnded, "ended"},
});

template <>
inline constexpr auto kEnumWords<TaskPhase> = std::to_array<EnumWord<TaskPhase>>({
    {TaskPhase::kPending, "pending"},
    {TaskPhase::kStarting, "starting"},
    {TaskPhase::kRunning, "running"},
    {TaskPhase::kExited, "exited"},
    {TaskPhase::kReleased, "released"},
});

template <>
inline constexpr auto kEnumWords<NodeState> = std::to_array<EnumWord<NodeState>>({
    {NodeState::kReady, "ready"},
    {NodeState::kSilent, "silent"},
    {NodeState::kLost, "lost"},
    {NodeState::kQuarantined, "quarantined"},
    {NodeState::kRefused, "refused"},
});

template <>
inline constexpr auto kEnumWords<BlockerKind> = std::to_array<EnumWord<BlockerKind>>({
    {BlockerKind::kNodesBusy, "nodes_busy"},
    {BlockerKind::kQuota, "quota"},
    {BlockerKind::kInfeasible, "infeasible"},
    {BlockerKind::kMinRun, "min_run"},
    {BlockerKind::kLinkBusy, "link_busy"},
    {BlockerKind::kBackoff, "backoff"},
    {BlockerKind::kBackfillHold, "backfill_hold"},
    {BlockerKind::kClaiming, "claiming"},
    {BlockerKind::kNotPlanned, "not_planned"},
    {BlockerKind::kDependency, "dependency"},
    {BlockerKind::kTimeSlice, "time_slice"},
    {BlockerKind::kCheckpointOn, "checkpoint_on"},
    {BlockerKind::kOrphan, "orphan"},
    {BlockerKind::kNodesOut, "nodes_out"},
    {BlockerKind::kUserDisabled, "user_disabled"},
    {BlockerKind::kPoolNotAllowed, "pool_not_allowed"},
    {BlockerKind::kUser, "user"},
    {BlockerKind::kReserved, "reserved"},
    {BlockerKind::kStartAfter, "start_after"},
    {BlockerKind::kBudget, "budget"},
});

template <>
inline constexpr auto kEnumWords<HistoryKind> = std::to_array<EnumWord<HistoryKind>>({
    {HistoryKind::kSchedulerStarted, "scheduler_started"},
    {HistoryKind::kPolicyReloaded, "policy_reloaded"},
    {HistoryKind::kJobSubmitted, "job_submitted"},
    {HistoryKind::kJobQueued, "job_queued"},
    {HistoryKind::kJobHeld, "job_held"},
    {HistoryKind::kJobResumed, "job_resumed"},
    {HistoryKind::kJobSucceeded, "job_succeeded"},
    {HistoryKind::kJobFailed, "job_failed"},
    {HistoryKind::kJobCancelled, "job_cancelled"},
    {HistoryKind::kAttemptClaimed, "attempt_claimed"},
    {HistoryKind::kAttemptStarting, "attempt_starting"},
    {HistoryKind::kAttemptRunning, "attempt_running"},
    {HistoryKind::kAttemptStopping, "attempt_stopping"},
    {HistoryKind::kAttemptEnded, "attempt_ended"},
    {HistoryKind::kClaimDropped, "claim_dropped"},
    {HistoryKind::kInterruptRequested, "interrupt_requested"},
    {HistoryKind::kStepAgreed, "step_agreed"},
    {HistoryKind::kNoAgreement, "no_agreement"},
    {HistoryKind::kGraceExtended, "grace_extended"},
    {HistoryKind::kInterruptSaved, "interrupt_saved"},
    {HistoryKind::kInterruptLeft, "interrupt_left"},
    {HistoryKind::kInterruptWithdrawn, "interrupt_withdrawn"},
    {HistoryKind::kSwapAborted, "swap_aborted"},
    {HistoryKind::kSaveWaitedFor, "save_waited_for"},
    {HistoryKind::kSaveGivenUp, "save_given_up"},
    {HistoryKind::kNodeRegistered, "node_registered"},
    {HistoryKind::kNodeReady, "node_ready"},
    {HistoryKind::kNodeSilent, "node_silent"},
    {HistoryKind::kNodeLost, "node_lost"},
    {HistoryKind::kNodeReturned, "node_returned"},
    {HistoryKind::kNodeQuarantined, "node_quarantined"},
    {HistoryKind::kNodeRelabelled, "node_relabelled"},
    {HistoryKind::kNodeRemoved, "node_removed"},
    {HistoryKind::kOrphan, "orphan"},
    {HistoryKind::kRootSeen, "root_seen"},
    {HistoryKind::kRootNotSeen, "root_not_seen"},
    {HistoryKind::kOutageBegan, "outage_began"},
    {HistoryKind::kOutageEnded, "outage_ended"},
    {HistoryKind::kNodeRefused, "node_refused"},
    {HistoryKind::kUserChanged, "user_changed"},
    {HistoryKind::kTeamChanged, "team_changed"},
    {HistoryKind::kQuotaChanged, "quota_changed"},
    {HistoryKind::kNodeFault, "node_fault"},
    {HistoryKind::kNodeFaultOver, "node_fault_over"},
    {HistoryKind::kSavesRemoved, "saves_removed"},
    {HistoryKind::kNodeEnrolled, "node_enrolled"},
    {HistoryKind::kNodeRevoked, "node_revoked"},
    {HistoryKind::kNodeCordoned, "node_cordoned"},
    {HistoryKind::kNodeDrained, "node_drained"},
    {HistoryKind::kNodeUncordoned, "node_uncordoned"},
    {HistoryKind::kJobPriority, "job_priority"},
    {HistoryKind::kJobUpdated, "job_updated"},
    {HistoryKind::kNotifySkipped, "notify_skipped"},
    {HistoryKind::kStatesChanged, "states_changed"},
    {HistoryKind::kLayoutChanged, "layout_changed"},
    {HistoryKind::kReservationSet, "reservation_set"},
    {HistoryKind::kReservationRemoved, "reservation_removed"},
    {HistoryKind::kReservationBegan, "reservation_began"},
    {HistoryKind::kReservationEnded, "reservation_ended"},
    {HistoryKind::kHealthEvent, "health_event"},
    {HistoryKind::kHealthCondition, "health_condition"},
    {HistoryKind::kHealthConditionOver, "health_condition_over"},
    {HistoryKind::kAttemptStalled, "attempt_stalled"},
    {HistoryKind::kAttemptStallOver, "attempt_stall_over"},
    {HistoryKind::kAttemptGpusIdle, "attempt_gpus_idle"},
    {HistoryKind::kAttemptGpusBusy, "attempt_gpus_busy"},
    {HistoryKind::kNodeToValidate, "node_to_validate"},
    {HistoryKind::kNodeValidated, "node_validated"},
    {HistoryKind::kNodeUnreliable, "node_unreliable"},
    {HistoryKind::kSaveFailed, "save_failed"},
});

template <typename E>
concept HasWords = (kEnumWords<E>.size() > 0);

// Null for a number that is no enumerator.
template <HasWords E>
constexpr const char* WordOf(E value) {
  const auto& words = kEnumWords<E>;
  const auto place = static_cast<std::size_t>(value);  // mostly the place in the table is the number
  if (place < words.size() && words[place].value == value) return words[place].word;
  for (const EnumWord<E>& one : words) {
    if (one.value == value) return one.word;
  }
  return nullptr;
}

// nullopt for a word that this binary does not know.
template <HasWords E>
constexpr std::optional<E> FromWord(std::string_view word) {
  for (const EnumWord<E>& one : kEnumWords<E>) {
    if (word == one.word) return one.value;
  }
  return std::nullopt;
}

}  // namespace glim::core
