#include "scheduler/server/loop/store_away.h"

#include <string>

namespace glim::server {
namespace {

constexpr char kUnreachable[] = "STORE_UNREACHABLE";
constexpr char kFull[] = "STORE_FULL";
constexpr char kMakeRoom[] =
    "make room on the file system of the database (glim admin status names it): the scheduler then goes on by itself";

}  // namespace

bool IsStoreFull(const Status& status) {
  return status.code() == StatusCode::kResourceExhausted && status.reason() == kFull;
}

bool IsStoreAway(const Status& status) {
  return IsStoreFull(status) || (status.code() == StatusCode::kUnavailable && status.reason() == kUnreachable);
}

Status RefusedWhileAway(const Status& why, TimePoint since, TimePoint now) {
  const std::string seconds = std::to_string((now - since).ms / 1000);
  const bool full = IsStoreFull(why);
  return Status(StatusCode::kUnavailable, full ? "the scheduler's database has had no room for " + seconds +
                                                     " s: nothing can be changed until there is room; what runs goes on"
                                               : "the scheduler's database cannot be reached since " + seconds +
                                                     " s: nothing can be changed until it is back; what runs goes on")
      .WithReason(why.reason())
      .WithFix(full ? kMakeRoom : "try again later; operators see the database in glim admin status");
}

Status InDoubtWhileAway(const Status& why) {
  if (IsStoreFull(why)) {
    return Status(StatusCode::kUnavailable,
                  "the scheduler's database has no room: the change is stored when there is room, if the scheduler "
                  "lives until then")
        .WithReason(why.reason())
        .WithFix(std::string(kMakeRoom) + "; a submission may be repeated with the same request id");
  }
  return Status(StatusCode::kUnavailable,
                "the scheduler's database went away: whether the change is stored is known when it is back")
      .WithReason(why.reason())
      .WithFix("look again later; a submission may be repeated with the same request id");
}

std::string AwayInWords(const Status& why) { return why.message() + (why.fix().empty() ? "" : ": " + why.fix()); }

}  // namespace glim::server
