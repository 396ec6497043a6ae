// Which entries of the history a report on hardware is made of. The stores have an index of them (migrations 0010): its
// condition says the same, a little wider, in SQL.
#pragma once

#include "scheduler/core/model/history.h"

namespace glim::store {

// How an attempt ends that its program did not end: by what it ran on, or by its limit of memory.
inline bool IsHardwareOutcome(core::Outcome outcome) {
  switch (outcome) {
    case core::Outcome::kNodeFailure:
    case core::Outcome::kGpuFailure:
    case core::Outcome::kNetwork:
    case core::Outcome::kHang:
    case core::Outcome::kOutOfMemory: return true;
    default: return false;
  }
}

inline bool IsOfHardware(const core::HistoryEntry& entry) {
  switch (entry.kind) {
    case core::HistoryKind::kHealthEvent:
    case core::HistoryKind::kHealthCondition:
    case core::HistoryKind::kNodeLost:
    case core::HistoryKind::kNodeRegistered:
    case core::HistoryKind::kNodeRemoved:
    case core::HistoryKind::kNodeCordoned:
    case core::HistoryKind::kNodeUncordoned: return true;
    case core::HistoryKind::kAttemptEnded: return IsHardwareOutcome(entry.facts.outcome);
    default: return false;
  }
}

}  // namespace glim::store
