#include "scheduler/server/loop/store_away.h"

#include <string>

namespace glim::server {
namespace {

constexpr char kReason[] = "STORE_UNREACHABLE";

}  // namespace

bool IsStoreAway(const Status& status) {
  return status.code() == StatusCode::kUnavailable && status.reason() == kReason;
}

Status RefusedWhileAway(TimePoint since, TimePoint now) {
  const std::int64_t seconds = (now - since).ms / 1000;
  return Status(StatusCode::kUnavailable, "the scheduler's database cannot be reached since " +
                                              std::to_string(seconds) +
                                              " s: nothing can be changed until it is back; what runs goes on")
      .WithReason(kReason)
      .WithFix("try again later; operators see the database in glim admin status");
}

Status InDoubtWhileAway() {
  return Status(StatusCode::kUnavailable,
                "the scheduler's database went away: whether the change is stored is known when it is back")
      .WithReason(kReason)
      .WithFix("look again later; a submission may be repeated with the same request id");
}

}  // namespace glim::server
