#include "nodeagent/sync/epoch_bound.h"

#include <algorithm>
#include <string>

namespace glim::nodeagent {
namespace {

constexpr std::uint64_t kYearS = 365ULL * 24 * 3600;

// An epoch far beyond is nobody's clock.
std::string BehindText(std::uint64_t behind_s) {
  if (behind_s > 10 * kYearS) return "";
  return "the clock of this node is " + std::to_string(behind_s / 3600) + " h behind the scheduler's: ";
}

}  // namespace

Status EpochBound::Believe(std::uint64_t epoch, TimePoint wall, TimePoint now) {
  if (epoch <= base_) return Status::Ok();
  const auto clock_s = static_cast<std::uint64_t>(std::max<std::int64_t>(0, wall.ms / 1000));
  if (epoch <= clock_s + kClockAheadMaxS) {
    base_ = epoch;
    base_since_ = now;
    return Status::Ok();
  }
  if (epoch - base_ <= kStepsMax) {
    if (now - base_since_ < Hours(24)) return Status::Ok();  // the base stays for a day
    base_ = epoch;
    base_since_ = now;
    return Status::Ok();
  }
  return Status(StatusCode::kFailedPrecondition,
                BehindText(epoch - clock_s) + "the scheduler's epoch " + std::to_string(epoch) +
                    " is more than a day ahead of this node's clock (" + std::to_string(clock_s) +
                    " s since 1970) and more than " + std::to_string(kStepsMax) + " above the last one accepted (" +
                    std::to_string(base_) + ")")
      .WithReason("EPOCH_AHEAD")
      .WithField("epoch")
      .WithFix(
          "see that --scheduler is this cluster's scheduler, and that the clocks of this node and of the "
          "scheduler's machine are right");
}

}  // namespace glim::nodeagent
