// History: what happened, for people and reports; append only. An entry says what kind of thing it was and with which
// amounts; history_words.h makes the sentence that people read, in one place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/core/model/ids.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/core/model/spec.h"
#include "sdk/base/time.h"

namespace glim::core {

enum class HistoryKind : std::uint8_t {
  kSchedulerStarted,
  kPolicyReloaded,
  kJobSubmitted,
  kJobQueued,
  kJobHeld,
  kJobResumed,
  kJobSucceeded,
  kJobFailed,
  kJobCancelled,
  kAttemptClaimed,
  kAttemptStarting,
  kAttemptRunning,
  kAttemptStopping,
  kAttemptEnded,
  kClaimDropped,
  kInterruptRequested,
  kStepAgreed,
  kNoAgreement,
  kGraceExtended,
  kInterruptSaved,
  kInterruptLeft,
  kInterruptWithdrawn,
  kSwapAborted,
  kSaveWaitedFor,
  kSaveGivenUp,
  kNodeRegistered,
  kNodeReady,
  kNodeSilent,
  kNodeLost,
  kNodeReturned,
  kNodeQuarantined,
  kNodeRelabelled,
  kNodeRemoved,
  kOrphan,
  kRootSeen,
  kRootNotSeen,
  kOutageBegan,
  kOutageEnded,
  kNodeRefused,
  kUserChanged,
  kTeamChanged,
  kQuotaChanged,
  kNodeFault,
  kNodeFaultOver,
  kSavesRemoved,
  kNodeEnrolled,
  kNodeRevoked,
  kNodeCordoned,
  kNodeDrained,
  kNodeUncordoned,
  kJobPriority,
  kJobUpdated,
  kNotifySkipped,
  kStatesChanged,
  kLayoutChanged,
  kReservationSet,
  kReservationRemoved,
  kReservationBegan,
  kReservationEnded,
  kHealthEvent,
  kHealthCondition,
  kHealthConditionOver,
  kAttemptStalled,
  kAttemptStallOver,
  kAttemptGpusIdle,
  kAttemptGpusBusy,
  kNodeToValidate,
  kNodeValidated,
  kNodeUnreliable,
  kSaveFailed,
};
const char* ToString(HistoryKind kind);

// The amounts of an entry. A kind uses those that are named after it; the others stay as they are here.
struct HistoryFacts {
  std::string name{};                               // job_submitted: the job's
  std::string user{};                               // job_submitted, job_resumed
  std::string team{};                               // job_submitted: the job's; empty: none
  PriorityClass priority = PriorityClass::kNormal;  // job_submitted
  std::uint32_t nodes = 0;       // job_submitted: asked for; attempt_claimed: of the gang; outage_*: silent
  std::uint32_t nodes_free = 0;  // attempt_claimed: of the gang's, had at once
  std::uint32_t gpus = 0;        // of a node: job_submitted, node_registered, node_relabelled
  bool simulated_gpus = false;   // node_registered
  std::string pool{};            // node_registered, node_relabelled
  std::string zone{};            // node_registered, node_relabelled
  std::vector<std::string>
      node_names{};  // the first few: attempt_claimed, _starting, save_waited_for, node_removed, _enrolled, _revoked
  std::uint32_t node_names_left_out = 0;  // how many more there are
  std::vector<JobId> jobs{};              // attempt_claimed: whose nodes it waits for; the first few
  std::uint32_t jobs_left_out = 0;
  std::int64_t step = -1;             // attempt_starting: its first; step_agreed, interrupt_saved: the last
  Outcome outcome = Outcome::kNone;   // attempt_ended
  StopCause stop = StopCause::kNone;  // attempt_stopping
  Duration took{};   // attempt_running: since it was queued; interrupt_saved, interrupt_left: since the request;
                     // attempt_stalled, _stall_over: without a sign of life
  Duration grace{};  // interrupt_requested, grace_extended, interrupt_left: from the request on; attempt_stalled: the
                     // longest time without a sign before
  std::string signal{};         // interrupt_requested: without SIG; empty: the job is asked through its socket
  bool before_it_left = false;  // job_resumed
  std::uint64_t epoch = 0;      // scheduler_started
  std::string version{};        // scheduler_started
  std::string states{};         // states_changed: who is what now (state_log.h)
  // health_*: which check, of what, with what number, measured and expected, and what was done about it.
  std::string check{};
  std::string device{};
  std::int64_t code = 0;   // attempt_ended: steps lost
  std::int64_t value = 0;  // attempt_ended: GPU-milliseconds lost
  std::int64_t expected = 0;
  std::string unit{};
  HealthVerdict verdict = HealthVerdict::kRecorded;
  friend bool operator==(const HistoryFacts&, const HistoryFacts&) = default;
};

inline constexpr std::size_t kHistoryTextBytesMax = 1000;
inline constexpr std::size_t kHistoryNamesMax = 8;
inline constexpr std::size_t kHistoryJobsMax = 32;

struct HistoryEntry {
  TimePoint at;
  HistoryKind kind = HistoryKind::kSchedulerStarted;
  JobId job;
  std::uint32_t attempt = 0;
  NodeId node;
  std::string text;  // why, in the words of whoever did it: a reason, a message, evidence; may be empty
  HistoryFacts facts{};
  friend bool operator==(const HistoryEntry&, const HistoryEntry&) = default;
};

}  // namespace glim::core
