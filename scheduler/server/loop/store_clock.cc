#include "scheduler/server/loop/store_clock.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/reservation.h"
#include "scheduler/store/codec/moved_times.h"
#include "sdk/log/log.h"

namespace glim::server {
namespace {

std::string InDays(Duration off) {
  const std::int64_t days = off.ms / Hours(24).ms;
  return std::to_string(days) + (days == 1 ? " day" : " days");
}

}  // namespace

Result<TimePoint> LastWritten(const core::ClusterState& rows, store::Store* store) {
  const auto mark = store->Mark(kClockMark);
  if (!mark.ok()) return mark.status();
  TimePoint marked;
  std::from_chars(mark->data(), mark->data() + mark->size(), marked.ms);
  return std::max(rows.newest, marked);
}

Status CheckClock(TimePoint last_written, TimePoint clock) {
  if (!last_written) return Status::Ok();
  const bool ahead = clock > last_written;
  const Duration off = ahead ? clock - last_written : last_written - clock;
  if (off <= kClockOffMax) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, "this host's clock says " + core::MomentInWords(clock) + ", " +
                                                     InDays(off) + (ahead ? " after" : " before") +
                                                     " the store was last written, " +
                                                     core::MomentInWords(last_written))
      .WithReason("CLOCK_OFF")
      .WithField("clock")
      .WithFix(
          ahead ? "set the clock. If it is right, because no scheduler ran for so long: glim-scheduler accept-clock, "
                  "with the options of this one"
                : "set the clock. If it is right, because a scheduler once ran with a clock that was ahead: "
                  "glim-scheduler accept-clock, with the options of this one, moves the times in the store back");
}

void NoteClock(std::uint64_t epoch, TimePoint clock, store::Store* store) {
  const Status noted = store->PutMark(epoch, kClockMark, std::to_string(clock.ms));
  if (!noted.ok()) LogWarning("the hour is not written down error=\"{}\"", noted.message());
}

Result<std::string> AcceptClock(store::Store* store, TimePoint clock) {
  const auto rows = store->Load();
  if (!rows.ok()) return rows.status();
  const auto last = LastWritten(**rows, store);
  if (!last.ok()) return last.status();
  if (CheckClock(*last, clock).ok()) return std::string("clock and store are in step: a scheduler starts");
  const auto epoch = store->AcquireEpoch();
  if (!epoch.ok()) return epoch.status();
  const bool moves = *last > clock;
  std::vector<core::Mutation> moved;
  if (moves) moved = store::MovedBack(**rows, clock, *last - clock);
  if (!moved.empty()) {
    if (Status s = store->Commit(*epoch, moved); !s.ok()) return s;
  }
  const std::uint64_t in_force = moves ? static_cast<std::uint64_t>(clock.ms / 1'000) : *epoch;
  if (moves) {
    if (Status s = store->ResetEpoch(*epoch, in_force); !s.ok()) return s;
  }
  // Last: without it the store is still ahead, and whoever was cut off before says it once more.
  if (Status s = store->PutMark(in_force, kClockMark, std::to_string(clock.ms)); !s.ok()) return s;
  if (!moves) return "accepted: it is " + core::MomentInWords(clock) + ", and nothing was written for so long";
  return "accepted: it is " + core::MomentInWords(clock) + ". Times of " + std::to_string(moved.size()) +
         " rows were moved back. History and audit trail keep what they said; nodes that enrolled meanwhile have "
         "certificates that do not count yet: invite them again";
}

}  // namespace glim::server
