#include "scheduler/core/lifecycle/seen.h"

namespace glim::core {

Status ChangedMeanwhile(const std::string& what) {
  return Status(StatusCode::kAborted, what + " is not what it was: somebody else has changed it")
      .WithReason("CHANGED_MEANWHILE")
      .WithField("expect")
      .WithFix("look at it again, and then decide again");
}

bool IsAsSeen(const std::optional<Cordon>& now, const Seen<Cordon>& seen) {
  if (now.has_value() != seen.row.has_value()) return false;
  if (!now) return true;
  Cordon then = *seen.row;
  then.drained = now->drained;
  return *now == then;
}

bool IsAsSeen(const Reservation* now, const Seen<Reservation>& seen) {
  if ((now != nullptr) != seen.row.has_value()) return false;
  if (now == nullptr) return true;
  Reservation then = *seen.row;
  then.nodes = now->nodes;
  then.begun_at = now->begun_at;
  return *now == then;
}

bool IsAsSeen(const Budget* now, const Seen<Budget>& seen) {
  if ((now != nullptr) != seen.row.has_value()) return false;
  if (now == nullptr) return true;
  Budget then = *seen.row;
  then.booked_gpu_ms = now->booked_gpu_ms;
  return *now == then;
}

}  // namespace glim::core
