// The names under which enumerators are stored. They are the store's own: a state may be renumbered or shown to people
// in other words without touching a database. Renaming one here needs a migration.
//
// Each switch is complete (-Wswitch), so that a new enumerator without a name does not build.
#pragma once

#include <optional>
#include <string_view>

#include "scheduler/core/model/rows.h"

namespace glim::store {

constexpr const char* StoredName(core::JobState value) {
  switch (value) {
    case core::JobState::kQueued: return "queued";
    case core::JobState::kStarting: return "starting";
    case core::JobState::kRunning: return "running";
    case core::JobState::kInterrupting: return "interrupting";
    case core::JobState::kCancelling: return "cancelling";
    case core::JobState::kSuspending: return "suspending";
    case core::JobState::kHeld: return "held";
    case core::JobState::kSucceeded: return "succeeded";
    case core::JobState::kFailed: return "failed";
    case core::JobState::kCancelled: return "cancelled";
  }
  return nullptr;
}

constexpr const char* StoredName(core::DependencyKind value) {
  switch (value) {
    case core::DependencyKind::kOk: return "ok";
    case core::DependencyKind::kFailed: return "failed";
    case core::DependencyKind::kAny: return "any";
  }
  return nullptr;
}

constexpr const char* StoredName(core::IfUnreachable value) {
  switch (value) {
    case core::IfUnreachable::kOlder: return "older";
    case core::IfUnreachable::kWait: return "wait";
  }
  return nullptr;
}

constexpr const char* StoredName(core::AttemptState value) {
  switch (value) {
    case core::AttemptState::kClaimed: return "claimed";
    case core::AttemptState::kStarting: return "starting";
    case core::AttemptState::kRunning: return "running";
    case core::AttemptState::kStopping: return "stopping";
    case core::AttemptState::kEnded: return "ended";
  }
  return nullptr;
}

constexpr const char* StoredName(core::Outcome value) {
  switch (value) {
    case core::Outcome::kNone: return "none";
    case core::Outcome::kSucceeded: return "succeeded";
    case core::Outcome::kFailed: return "failed";
    case core::Outcome::kInterrupted: return "interrupted";
    case core::Outcome::kStartFailed: return "start_failed";
    case core::Outcome::kNodeFailure: return "node_failure";
    case core::Outcome::kHang: return "hang";
    case core::Outcome::kTimeout: return "timeout";
    case core::Outcome::kCancelled: return "cancelled";
    case core::Outcome::kClaimDropped: return "claim_dropped";
    case core::Outcome::kRestoreFailed: return "restore_failed";
  }
  return nullptr;
}

constexpr const char* StoredName(core::SaveResult value) {
  switch (value) {
    case core::SaveResult::kNone: return "none";
    case core::SaveResult::kSaved: return "saved";
    case core::SaveResult::kLeftUnsaved: return "left_unsaved";
    case core::SaveResult::kKilled: return "killed";
  }
  return nullptr;
}

constexpr const char* StoredName(core::StopCause value) {
  switch (value) {
    case core::StopCause::kNone: return "none";
    case core::StopCause::kCancel: return "cancel";
    case core::StopCause::kSuspend: return "suspend";
    case core::StopCause::kRankFailed: return "rank_failed";
    case core::StopCause::kDeadline: return "deadline";
    case core::StopCause::kStartTimeout: return "start_timeout";
    case core::StopCause::kNodeFailure: return "node_failure";
    case core::StopCause::kFinished: return "finished";
  }
  return nullptr;
}

constexpr const char* StoredName(core::AgreementState value) {
  switch (value) {
    case core::AgreementState::kNotifying: return "notifying";
    case core::AgreementState::kAgreed: return "agreed";
    case core::AgreementState::kNoAgreement: return "no_agreement";
    case core::AgreementState::kSignalled: return "signalled";
    case core::AgreementState::kWithdrawn: return "withdrawn";
    case core::AgreementState::kEnded: return "ended";
  }
  return nullptr;
}

constexpr const char* StoredName(core::TaskPhase value) {
  switch (value) {
    case core::TaskPhase::kPending: return "pending";
    case core::TaskPhase::kStarting: return "starting";
    case core::TaskPhase::kRunning: return "running";
    case core::TaskPhase::kExited: return "exited";
    case core::TaskPhase::kReleased: return "released";
  }
  return nullptr;
}

constexpr const char* StoredName(core::NodeState value) {
  switch (value) {
    case core::NodeState::kReady: return "ready";
    case core::NodeState::kSilent: return "silent";
    case core::NodeState::kLost: return "lost";
    case core::NodeState::kQuarantined: return "quarantined";
  }
  return nullptr;
}

constexpr const char* StoredName(core::Use value) {
  switch (value) {
    case core::Use::kFree: return "free";
    case core::Use::kClaimed: return "claimed";
    case core::Use::kUnavailable: return "unavailable";
    case core::Use::kStarting: return "starting";
    case core::Use::kRestoring: return "restoring";
    case core::Use::kProductive: return "productive";
    case core::Use::kStopping: return "stopping";
    case core::Use::kLost: return "lost";
  }
  return nullptr;
}

constexpr const char* StoredName(core::PriorityClass value) {
  switch (value) {
    case core::PriorityClass::kAuto: return "auto";
    case core::PriorityClass::kLow: return "low";
    case core::PriorityClass::kBelowNormal: return "below_normal";
    case core::PriorityClass::kUnderNormal: return "under_normal";
    case core::PriorityClass::kNormal: return "normal";
    case core::PriorityClass::kAboveNormal: return "above_normal";
    case core::PriorityClass::kHigh: return "high";
    case core::PriorityClass::kVeryHigh: return "very_high";
    case core::PriorityClass::kExtremeHigh: return "extreme_high";
  }
  return nullptr;
}

constexpr const char* StoredName(core::Launcher value) {
  switch (value) {
    case core::Launcher::kNode: return "node";
    case core::Launcher::kPerGpu: return "per_gpu";
  }
  return nullptr;
}

constexpr const char* StoredName(core::InterruptMode value) {
  switch (value) {
    case core::InterruptMode::kCooperative: return "cooperative";
    case core::InterruptMode::kSignal: return "signal";
  }
  return nullptr;
}

constexpr const char* StoredName(core::CrossZone value) {
  switch (value) {
    case core::CrossZone::kAuto: return "auto";
    case core::CrossZone::kNever: return "never";
  }
  return nullptr;
}

constexpr const char* StoredName(core::LeafPolicy value) {
  switch (value) {
    case core::LeafPolicy::kPack: return "pack";
    case core::LeafPolicy::kAny: return "any";
  }
  return nullptr;
}

constexpr const char* StoredName(core::NvLink value) {
  switch (value) {
    case core::NvLink::kNone: return "none";
    case core::NvLink::kPair: return "pair";
    case core::NvLink::kFull: return "full";
  }
  return nullptr;
}

// Every enumerator of the rows lies between these numbers; row_codec_test walks them.
inline constexpr int kEnumLow = -1;
inline constexpr int kEnumHigh = 63;

// The enumerator of that name; nullopt for a name that this binary does not know.
template <typename E>
constexpr std::optional<E> FromStoredName(std::string_view name) {
  for (int number = kEnumLow; number <= kEnumHigh; ++number) {
    const auto value = static_cast<E>(number);
    const char* known = StoredName(value);
    if (known != nullptr && name == known) return value;
  }
  return std::nullopt;
}

}  // namespace glim::store
