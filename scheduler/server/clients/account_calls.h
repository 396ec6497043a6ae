// What of users, teams, quotas and the layout who may change and see, and rows in words for the audit trail. Pure.
#pragma once

#include <string>

#include "glim/v1/admin_api.pb.h"
#include "scheduler/core/model/accounts.h"
#include "scheduler/server/door/caller.h"
#include "scheduler/server/loop/policy_keeper.h"
#include "sdk/base/status.h"

namespace glim::server {

// Of an operator: a user's role is changed by an admin alone, and so is the row of who is an operator or an admin.
// PERMISSION_DENIED (ROLE) with the field.
Status CheckMayChange(const Caller& caller, const core::Accounts& accounts, const core::AccountChange& change);

// The history says who.
Status CheckHasName(const std::string& user);

// A number for a pool that is not there would bound nobody, and a link of a zone that is not there join nothing, in
// silence. What is there may always be removed. NO_SUCH_POOL, NO_SUCH_ZONE.
Status CheckNamed(const KnownNames& known, const core::AccountChange& change);

// "user kim", "team vision", "quota user/kim/*/high", "link A/B".
std::string ObjectOf(const core::AccountRow& row);
// The row itself; empty: there is none with its key.
std::string RowInWords(const core::AccountRow& row);
std::string RowNow(const core::Accounts& accounts, const core::AccountRow& row);

// Of other users only what everybody may see is left.
void HidePrivateParts(const Caller& caller, v1::ListAccountsResponse* accounts);

}  // namespace glim::server
