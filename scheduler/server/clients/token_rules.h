// Who may make, see and revoke whose tokens. Pure: the clock and the random numbers are handed in.
//
// Nobody makes a token with more than they have themselves: no larger scope, for no user of a higher role than the one
// in force, and of a token that is to end (a login's) none that outlives it. A user's tokens are the user's own affair,
// an operator's too; an admin's are an admin's affair.
#pragma once

#include <cstdint>
#include <string>

#include "glim/v1/admin_api.pb.h"
#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/identity.h"
#include "scheduler/server/door/caller.h"
#include "sdk/base/result.h"

namespace glim::server {

inline constexpr Duration kTokenLife = Hours(24 * 90);  // where none is asked for
inline constexpr Duration kTokenLifeMax = Hours(24 * 366);
inline constexpr std::size_t kTokensOfUserMax = 200;
inline constexpr std::size_t kTokenNoteMax = 200;

// May the caller work with tokens of this user? PERMISSION_DENIED (ROLE, NOT_YOURS), NOT_FOUND (NO_SUCH_USER).
Status CheckTokensOf(const Caller& caller, const core::Accounts& accounts, const std::string& user);

// The row that the request asks for, without id and hash. INVALID_ARGUMENT, PERMISSION_DENIED (ROLE, NOT_YOURS, SCOPE,
// OUTLIVES), FAILED_PRECONDITION (USER_DISABLED, NO_IDENTITY: nothing is proven in plaintext mode).
Result<core::TokenRow> NewToken(const Caller& caller, const core::Accounts& accounts,
                                const v1::CreateTokenRequest& request, TimePoint now);

// For the audit trail: "user kim, scope all, until 2026-11-23T08:00:00Z".
std::string InWords(const core::TokenRow& row);

void TokenToProto(const core::TokenRow& row, TimePoint last_used, v1::Token* out);

}  // namespace glim::server
