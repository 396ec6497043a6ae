// Changes of tokens, nodes' identities, sealed keys and secrets; and what goes by itself.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/event.h"

namespace glim::core {

// All changes or none. A row that is not as expected: ABORTED (CHANGED_MEANWHILE). A token is for a registered user
// (NO_SUCH_ACCOUNT), a job's for one of its attempts that lives (ATTEMPT_ENDED). The history is told of nodes alone.
// With a host for logins that is revoked or taken away go the tokens that it made, and those that were made with these.
void ApplyIdentity(Changes& changes, const ChangeIdentity& event);

void ApplyTokensUsed(Changes& changes, const TokensUsed& event);

// Tokens that expired so long ago that nobody asks why; bounded work a call.
void SweepTokens(Changes& changes);
TimePoint NextSweep(const ClusterState& state);  // 0: nothing is to go

// The tokens of a host for logins that is trusted no more: whoever has its key may have made some for everybody.
void ForgetLogins(Changes& changes, const NodeIdentity& host);

// The tokens and secrets of users who are no more.
void ForgetUsers(Changes& changes, const std::vector<std::string>& users);

}  // namespace glim::core
