#include "scheduler/core/lifecycle/link_review.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "scheduler/core/lifecycle/attempt_start.h"
#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/model/feasibility.h"
#include "scheduler/core/model/zone_link.h"

namespace glim::core {
namespace {

// Who is asked to leave, leaves sooner or later, or whoever waits for that gives up with the request's withdrawal.
bool StaysOnItsLink(const ClusterState& state, const Attempt& attempt) {
  return attempt.state != AttemptState::kClaimed && attempt.stop == StopCause::kNone && !attempt.open_agreement() &&
         !HasLeftItsLink(state, attempt);
}

void GiveUpCrossings(Changes& changes) {
  std::map<Link, std::uint32_t> taken;
  std::vector<std::pair<TimePoint, AttemptId>> claimed;
  for (const auto& [pool, attempts] : changes.state().index().live) {
    for (const AttemptId id : attempts) {
      const Attempt& attempt = changes.attempt(id);
      if (!Crosses(attempt)) continue;
      if (attempt.state == AttemptState::kClaimed) claimed.emplace_back(attempt.claimed_at, id);
      if (StaysOnItsLink(changes.state(), attempt)) ++taken[LinkOf(attempt)];
    }
  }
  std::sort(claimed.begin(), claimed.end());
  for (const auto& [since, id] : claimed) {
    const Link link = LinkOf(changes.attempt(id));
    if (taken[link] < std::max(1u, LinkJobsMax(changes.state().accounts().links, link.first, link.second))) {
      ++taken[link];
      continue;
    }
    DropClaims(changes, id, "the link " + link.first + "-" + link.second + " carries fewer jobs now");
    Requeue(changes, id.job, {});
  }
}

}  // namespace

void ReviewLinks(Changes& changes) {
  GiveUpCrossings(changes);
  BeginCrossings(changes);
}

}  // namespace glim::core
