#include "scheduler/core/lifecycle/claim_review.h"

#include <algorithm>
#include <string>
#include <vector>

#include "scheduler/core/lifecycle/claims.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/model/account_access.h"
#include "scheduler/core/model/node_users.h"
#include "scheduler/core/model/task_user.h"

namespace glim::core {
namespace {

bool StillWaits(const Attempt& attempt) { return attempt.state == AttemptState::kClaimed; }

// Empty: it may have its nodes.
std::string WhyNot(const Changes& changes, const Attempt& attempt) {
  const Accounts& accounts = changes.state().accounts();
  const Job& job = changes.job(attempt.id.job);
  switch (BarOf(accounts, changes.policy(), job.user, job.team, job.spec->pool)) {
    case Bar::kNone: break;
    case Bar::kUserDisabled: return "user " + job.user + " is disabled";
    case Bar::kPoolNotAllowed: return "team " + job.team + " may not use its pool any more";
    case Bar::kTaskUser: return FaultOfTaskUser(accounts, changes.policy(), job.user)->what;
  }
  const std::optional<std::uint32_t> uid = UidOf(accounts, job.user);
  const auto closed = std::find_if(attempt.nodes.begin(), attempt.nodes.end(),
                                   [&](NodeId id) { return !Takes(RuleOf(changes.node(id)), uid); });
  return closed == attempt.nodes.end() ? "" : "node " + changes.node(*closed).name + " runs no job of user " + job.user;
}

}  // namespace

void ReviewClaims(Changes& changes) {
  std::vector<AttemptId> waiting;
  for (const AttemptId id : changes.state().index().attention) {
    if (StillWaits(changes.attempt(id))) waiting.push_back(id);
  }
  for (const AttemptId id : waiting) {
    if (!StillWaits(changes.attempt(id))) continue;
    const std::string why = WhyNot(changes, changes.attempt(id));
    if (why.empty()) continue;
    DropClaims(changes, id, why);
    Requeue(changes, id.job, {});
  }
}

}  // namespace glim::core
