// Who asks: by the token in the metadata `authorization`, or, in plaintext mode, by the name in `glim-user`.
//
// Pure but for the context's metadata. On a refusal `caller` has what the audit trail may say of it: never a user whose
// secret was not shown.
#pragma once

#include <grpcpp/grpcpp.h>

#include <string_view>

#include "scheduler/server/door/caller.h"
#include "scheduler/server/door/permissions.h"
#include "scheduler/server/loop/snapshot.h"
#include "sdk/base/status.h"

namespace glim::server {

// UNAUTHENTICATED: NO_TOKEN, BAD_TOKEN (unknown, revoked, another secret, not a token, given twice), TOKEN_EXPIRED,
// USER_DISABLED.
Status CallerByToken(const grpc::CallbackServerContext& context, const Snapshot& snapshot, TimePoint now,
                     Caller* caller);

// The same of the metadata's value, "Bearer TOKEN".
Status CallerByText(std::string_view authorization, const Snapshot& snapshot, TimePoint now, Caller* caller);

// The same of a token whose secret was shown before; null: it is gone.
Status CallerOfRow(const Snapshot& snapshot, const core::TokenRow* row, TimePoint now, Caller* caller);

// UNAUTHENTICATED (NO_USER). What operators ask may go without a name there.
Status CallerByName(const grpc::CallbackServerContext& context, const Permission& row, Caller* caller);

}  // namespace glim::server
