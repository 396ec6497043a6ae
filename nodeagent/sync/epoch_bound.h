// Which epochs an agent believes. It obeys the highest that it has accepted, so that a fake scheduler with a huge one
// would make it deaf to the real one for good (docs/decisions/0024-what-strangers-may-say.md).
//
// An epoch is at least the seconds since 1970 when its leader began. So an agent accepts what is at most a day ahead of
// its own clock, or at most kStepsMax above what it has accepted: a cluster whose epochs ran ahead of the clocks goes
// on, and counts one a leader. Those steps cannot be walked one after the other: beyond the clock's day they count from
// one base for a whole day. Plain values, no clock of its own.
#pragma once

#include <cstdint>

#include "sdk/base/status.h"
#include "sdk/base/time.h"

namespace glim::nodeagent {

class EpochBound {
 public:
  static constexpr std::int64_t kClockAheadMaxS = 24 * 3600;
  static constexpr std::uint64_t kStepsMax = 1000;

  // `accepted`: the highest so far; `now` on a clock that does not jump.
  EpochBound(std::uint64_t accepted, TimePoint now) : base_(accepted), base_since_(now) {}

  // What a scheduler says its epoch is; `wall` since 1970 by this node's clock. FAILED_PRECONDITION (EPOCH_AHEAD) when
  // it is not believed. A lower one than was accepted is no business of this bound.
  Status Believe(std::uint64_t epoch, TimePoint wall, TimePoint now);

 private:
  std::uint64_t base_;
  TimePoint base_since_;
};

}  // namespace glim::nodeagent
